import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))  # for `import reference`
# A shell that starts tests in the background has signals ignored, which processes would inherit.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from mvset import MinimumVolumeSet
from mvset.paper.datasets import boston, paper_mixture, two_moons

settings.register_profile("same", derandomize=True)  # for others: pytest --hypothesis-profile=default
settings.load_profile("same")

TABLES = {
    "moons": lambda: two_moons(400, random_state=0),
    "boston": boston,
    "mixture2": lambda: paper_mixture(2).sample(500, random_state=0),
    "mixture4": lambda: paper_mixture(4).sample(500, random_state=0),
    "mixture8": lambda: paper_mixture(8).sample(500, random_state=0),
    "outliers": lambda: paper_mixture(2, outlier_share=0.05).sample(500, random_state=0),
}


@pytest.fixture(scope="session", params=TABLES)
def table(request):
    """Every table of the paper, small."""
    return TABLES[request.param]()


@pytest.fixture(scope="session")
def moons():
    return two_moons(400, random_state=0)


@pytest.fixture(scope="session")
def split_model(moons):
    return MinimumVolumeSet(sigma=0.3, splits=5, random_state=0).fit(moons)


@pytest.fixture(scope="session")
def conformal_model(moons):
    return MinimumVolumeSet(sigma=0.3, splits=5, calibration="conformal", random_state=0).fit(moons)


@pytest.fixture
def quick_fits(monkeypatch):
    """What is read is tested here, not what is fitted to it."""
    fit = MinimumVolumeSet.fit

    def quick(self, X, y=None, **parameters):
        quickly = {"splits": 2, "sigma": 1.0, "nu": 0.4, "scaling": "standard", "n_volume_points": 100}
        return fit(self.set_params(**quickly), X, y, **parameters)

    monkeypatch.setattr(MinimumVolumeSet, "fit", quick)


@pytest.fixture(scope="session")
def mvset():
    """The command, in this process."""
    from typer.testing import CliRunner

    from mvset.app.cli.app import app

    def run(*arguments):
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
        return done

    return run
