"""Containers by podman, with a store of its own in the slot's space that goes with it."""

import json
import os
from pathlib import Path

from nodulebench.runner.isolation.containers import Engine, Prepared, client_environment, mounted
from nodulebench.runner.isolation.inside import machine_links, machine_parts
from nodulebench.runner.isolation.sandbox import Job
from nodulebench.runner.isolation.seccomp import profile_of

_SETTINGS = """[engine]
lock_type = "file"
events_logger = "none"
cgroup_manager = "cgroupfs"
static_dir = "{space}/static"
tmp_dir = "{space}/tmp"
volume_path = "{space}/volumes"
{runtime}
"""
_MOST_PROCESSES = 32768
_USUAL = Path("/usr/share/containers/seccomp.json")
_PROFILE = "seccomp.json"


class Podman(Engine):
    """Sandboxes by podman."""

    name = "podman"
    package = "the package podman"
    asks_version = ("--version",)
    sees_our_mounts = True

    def prepared(self, job: Job) -> Prepared:
        """A store of its own, and the root file system as it lies on the disk."""
        if job.space is None:
            raise AssertionError("a slot has a space")
        space, root = job.space, job.root or job.space / "root"
        settings = space / "containers.conf"
        if not settings.exists():
            runtime = 'runtime = "runc"' if _is_first_version() else ""
            if _USUAL.exists():  # without, its test says that calls are let through
                calls = profile_of(json.loads(_USUAL.read_bytes()))
                (space / _PROFILE).write_text(json.dumps(calls), encoding="utf-8")
            settings.write_text(_SETTINGS.format(space=space, runtime=runtime), encoding="utf-8")
        words = [self.name, "--root", f"{space}/store", "--runroot", f"{space}/r"]
        words += ["--storage-driver", "vfs"]
        own = ["--read-only-tmpfs=false", "--passwd=false", "--no-hosts", "--cgroups=no-conmon"]
        own.append("--http-proxy=false")
        own.append(_processes())
        profile = space / _PROFILE
        own += [f"--security-opt=seccomp={profile}"] if profile.exists() else []
        own += [] if os.geteuid() == 0 else ["--userns=keep-id"]
        if job.root is None:
            if not root.exists():
                _make_root(root)
            for place in machine_parts():
                own += mounted(place, place)
        environment = {**client_environment(), "CONTAINERS_CONF": str(settings)}
        return Prepared(words, environment, [*own, "--rootfs", str(root)])


def _make_root(root: Path) -> None:
    """A root file system with nothing but places for mounts, and links."""
    root.mkdir(mode=0o755)
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)
    for name, target in machine_links().items():
        (root / name).symlink_to(target)


def _processes() -> str:
    """A limit on processes that we may set: podman's own is one that only a full root may."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    most = _MOST_PROCESSES if hard == resource.RLIM_INFINITY else min(hard, _MOST_PROCESSES)
    return f"--ulimit=nproc={most}:{most}"


def _is_first_version() -> bool:
    """Whether control groups are of version 1, of which crun knows no mixture with the second."""
    return not Path("/sys/fs/cgroup/cgroup.controllers").exists()
