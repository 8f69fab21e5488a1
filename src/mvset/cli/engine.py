"""A cluster for the work of a command: that of Dask or Ray, through the backends of joblib."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from mvset.cli.failures import require_package

_PATIENCE = 10  # seconds for the cluster to answer
_RETRIES = {"max_restarts": 3, "max_task_retries": 3}  # of workers of Ray that die; Dask has its own


def _checked(address: str | None) -> str | None:
    if address is not None and (urlsplit(address).scheme not in ("dask", "ray") or not urlsplit(address).netloc):
        raise typer.BadParameter(f"must be dask://HOST:PORT or ray://HOST:PORT; got {address!r}.")
    return address


Engine = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Cluster whose workers read and score the table: dask://HOST:PORT of a scheduler, or ray://HOST:PORT. "
        "They need the same mvset, and the files under the same names. Results do not change.",
        callback=_checked,
    ),
]


class ClusterError(ValueError):
    """The cluster cannot be reached, or has given up."""


@contextmanager
def cluster(address: str | None) -> Iterator[None]:
    """Run the work inside the context on a cluster, if an address is given."""
    if address is None:
        yield
    elif urlsplit(address).scheme == "dask":
        with _dask(urlsplit(address).netloc):
            yield
    else:
        with _ray(address):
            yield


@contextmanager
def _dask(netloc: str) -> Iterator[None]:
    require_package("distributed", "cluster", "Clusters of Dask need one more package")
    from distributed import Client, KilledWorker
    from joblib import parallel_config
    from joblib._dask import DaskDistributedBackend

    class Backend(DaskDistributedBackend):
        """joblib waits for ever for a task that the scheduler has given up: here it fails.

        And it runs tasks in this process if the cluster has a single core, such as while others start again: here not.
        """

        def effective_n_jobs(self, n_jobs: int) -> int:
            return max(2, int(super().effective_n_jobs(n_jobs)))

        def submit(self, func: Any, callback: Any = None) -> Any:
            future = super().submit(func, callback)
            future.add_done_callback(lambda done: callback(done.exception()) if done.exception() else None)
            return future

        def retrieve_result_callback(self, out: Any) -> Any:
            if isinstance(out, Exception):
                raise out
            return super().retrieve_result_callback(out)

    try:
        client = Client(f"tcp://{netloc}", timeout=_PATIENCE)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise ClusterError(f"No scheduler of Dask answers at {netloc}: {error}") from None
    warnings.filterwarnings("ignore", "Sending large graph")  # a model and its calibration scores
    try:
        with client, parallel_config(Backend(client=client, wait_for_workers_timeout=_PATIENCE)):
            yield
    except KilledWorker as error:
        raise ClusterError(
            f"Workers of the cluster died again and again, the last at {error.last_worker.address}: give them more "
            "memory."
        ) from None
    except TimeoutError:
        raise ClusterError(f"The cluster at {netloc} has no worker: start one with `dask worker {netloc}`.") from None
    except ModuleNotFoundError as error:
        raise ClusterError(f"A worker of the cluster lacks a package ({error}): install mvset[cli] there.") from None


@contextmanager
def _ray(address: str) -> Iterator[None]:
    require_package("ray", "ray", "Clusters of Ray need one more package")
    import ray
    from joblib import parallel_config
    from ray.exceptions import RayActorError
    from ray.util.joblib import register_ray

    logging.getLogger("ray").setLevel(logging.ERROR)
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError) as error:
        raise ClusterError(f"No Ray answers at {address}: {error}") from None
    register_ray()
    try:
        warnings.filterwarnings("ignore", "More than 10MB of messages")  # a model and its calibration scores
        with parallel_config("ray", n_jobs=-1, ray_remote_args=_RETRIES):
            yield
    except RayActorError:
        raise ClusterError("Workers of the cluster died again and again: give them more memory.") from None
    finally:
        ray.shutdown()
