"""The Dask engine on a Slurm cluster: its workers are jobs, and go when the work is done.

Partition, account, time, cores and memory of a job are those of the site's ``jobqueue.yaml``.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from nodulebench.core.errors import InputError
from nodulebench.core.executors.dask import LOOPBACK, DaskExecutor, quietly, require_same_versions
from nodulebench.core.optional_packages import needs

if TYPE_CHECKING:
    from distributed import Security

CORES, MEMORY = 1, "4 GiB"
"""Of a job where the site says nothing."""


@contextmanager
def open_slurm(workers: int, gpus: int = 0) -> Iterator[DaskExecutor]:
    """So many jobs of Slurm as workers; the work begins with the first that Slurm starts.

    All sides speak with certificates that are made for this work and lie in the working folder,
    which the nodes see too, for as long as it takes.
    """
    with needs("slurm", "--executor slurm"):
        import dask
        from dask_jobqueue.slurm import SLURMCluster
        from distributed import Client
    if shutil.which("sbatch") is None:
        what = "needs sbatch, which this machine has not."
        raise InputError.at("--executor slurm", what, "Begin it where jobs are submitted.")
    with quietly(), tempfile.TemporaryDirectory(prefix=".nodulebench-", dir=Path.cwd()) as folder:
        site = dask.config.get("jobqueue.slurm")
        security = _security(Path(folder))
        with (
            SLURMCluster(
                cores=site["cores"] or CORES,
                memory=site["memory"] or MEMORY,
                processes=site["processes"] or 1,
                python=sys.executable,
                security=security,
                log_directory=folder,
                scheduler_options={"dashboard": False, "dashboard_address": f"{LOOPBACK}:0"},
                worker_extra_args=["--resources", f"GPU={gpus}"] if gpus else [],
            ) as cluster,
            Client(cluster, security=security) as client,
        ):
            cluster.scale(jobs=workers)
            client.wait_for_workers(1)
            executor = DaskExecutor(client)
            require_same_versions(executor)
            yield executor


def _security(folder: Path) -> "Security":
    """Certificates for this work only, as files that its jobs can read."""
    from distributed import Security

    made = Security.temporary().get_tls_config_for_role("worker")
    files = {}
    for name in ("ca_file", "cert", "key"):
        files[name] = folder / f"{name}.pem"
        files[name].touch(mode=0o600)
        files[name].write_text(made[name], encoding="ascii")
    both = {"cert": str(files["cert"]), "key": str(files["key"])}
    roles = ("client", "scheduler", "worker")
    of_roles = {f"tls_{role}_{name}": path for role in roles for name, path in both.items()}
    return Security(tls_ca_file=str(files["ca_file"]), require_encryption=True, **of_roles)
