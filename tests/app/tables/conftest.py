import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest


def _server_programs():
    """The folder of initdb and pg_ctl: Debian does not put it on the PATH."""
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).parent
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    return debian[-1].parent if debian else None


@pytest.fixture(scope="session")
def postgresql():
    """The address of a PostgreSQL server; without one tests skip, or fail if MVSET_NEEDS_POSTGRES is set."""
    programs = _server_programs()
    if programs is None:
        if os.environ.get("MVSET_NEEDS_POSTGRES"):
            pytest.fail("PostgreSQL is not installed, and MVSET_NEEDS_POSTGRES is set.")
        pytest.skip("PostgreSQL is not installed.")
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []  # the server refuses to run as root
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # the path of a socket is at most 107 bytes long
    if as_user:
        shutil.chown(folder, "postgres")

    def run(program, *arguments):
        command = [*as_user, str(programs / program), "-D", str(folder / "data"), *arguments]
        done = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        assert done.returncode == 0, done.stderr.decode()

    try:
        run("initdb", "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C")
        settings = f"-k {folder} -c listen_addresses='' -c fsync=off"
        run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", settings, "start")
        try:
            yield f"postgresql://postgres@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
