"""What a program finds in a sandbox beside its mounts: programs, settings, cards, environment."""

from pathlib import Path

from nodulebench.runner.isolation.sandbox import Job

_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_SETTINGS = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime")


def environment_of(job: Job) -> dict[str, str]:
    """What a program finds in its environment: nothing of ours."""
    plain = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    folders = {"HOME": "/tmp", "TMPDIR": "/tmp"}  # noqa: S108
    cards = {"CUDA_VISIBLE_DEVICES": ",".join(str(one) for one in job.limits.gpus)}
    return plain | folders | cards | dict(job.environment)


def machine_links() -> dict[str, str]:
    """The links of this machine's root that lead to its programs and libraries."""
    places = (Path("/") / name for name in _SYSTEM)
    return {place.name: str(place.readlink()) for place in places if place.is_symlink()}


def machine_parts() -> list[str]:
    """The programs and libraries of this machine, without its settings and its people's files."""
    places = (Path("/") / name for name in _SYSTEM)
    folders = [str(place) for place in places if place.is_dir() and not place.is_symlink()]
    settings = (Path("/etc") / name for name in _SETTINGS)
    return ["/usr", *folders, *(str(one) for one in settings if one.exists())]


def cards_of(gpus: tuple[int, ...]) -> list[str]:
    """The device files of graphics cards."""
    if not gpus:
        return []
    shared = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")
    found = [*(f"/dev/nvidia{one}" for one in gpus), *shared]
    return [one for one in found if Path(one).exists()]
