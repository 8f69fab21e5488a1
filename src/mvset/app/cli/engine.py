"""What computes: the CPU, a GPU through torch, or a cluster of Dask or Ray through the backends of joblib."""

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from mvset.app.cli.failures import print_note, require_package

_DEVICES = ("cpu", "cuda", "auto")
_PATIENCE = 10  # seconds for the cluster to answer
_RETRIES = {"max_restarts": 3, "max_task_retries": 3}  # of workers of Ray that die; Dask has its own


def _checked(name: str | None) -> str | None:
    if name is not None and name not in _DEVICES and not re.fullmatch("(dask|ray)://.+", name):
        raise typer.BadParameter(f"must be cpu, cuda, auto, dask://HOST:PORT or ray://HOST:PORT; got {name!r}.")
    return name


Engine = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What computes the scores: cpu, cuda (a GPU), auto (a GPU if there is one), or the workers of a cluster, "
        "e.g. dask://HOST:PORT or ray://HOST:PORT. Results differ only by rounding. With a device, a note shows the "
        "share of the time that each step worked. Workers need the same mvset, and the files under the same names.",
        callback=_checked,
    ),
]


class ClusterError(ValueError):
    """The cluster cannot be reached, or has given up."""


@contextmanager
def running_on(engine: str | None) -> Iterator[tuple[Any, Any]]:
    """Run the work inside the context on a cluster or a device; yield the GPU, or None, and the times of the steps.

    If a device is named, its share of the time of each step is printed.
    """
    from mvset.devices import device
    from mvset.devices.stages import Stages

    if engine is not None and engine not in _DEVICES:
        with _dask(engine.removeprefix("dask://")) if engine.startswith("dask") else _ray(engine):
            yield None, Stages()
        return
    wanted = engine == "cuda" or (engine == "auto" and not device.missing_device())
    gpu = device.gpu() if wanted else None
    stages = Stages() if gpu is None else gpu.stages
    with device.calibrated_on(gpu):
        yield gpu, stages
    if engine is not None:
        place = "the CPU" if gpu is None else f"the device {gpu.place.device}"
        shares = f": {stages}" if stages.seconds else ""  # `fit` scores rows of small tables as it trains
        print_note(f"scored on {place}{shares}.")


@contextmanager
def _dask(netloc: str) -> Iterator[None]:
    require_package("distributed", "cluster", "Clusters of Dask need one more package")
    from distributed import Client, KilledWorker
    from joblib import parallel_config
    from joblib._dask import DaskDistributedBackend

    class Backend(DaskDistributedBackend):
        """Fail if the scheduler has given up a task, for which joblib waits for ever.

        joblib also runs tasks in this process if the cluster has a single core, such as while others start again. This
        backend does not.
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
