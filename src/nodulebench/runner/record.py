"""What a run was made with: machine, programs, walls and limits, as they stand in ``run.json``."""

import os
import platform
from pathlib import Path
from typing import Any

from nodulebench import __version__
from nodulebench.runner.contract.algorithm import Algorithm
from nodulebench.runner.isolation.self_test import SelfTest

SCHEMA = "nodulebench/run@1"


def identity(algorithm: Algorithm, isolation: str, set_digest: str, repeats: int) -> dict[str, Any]:
    """What must be the same for a run to be gone on with."""
    digests = [digest for _, digest in algorithm.weights]
    return {
        "algorithm": algorithm.digest,
        **({"weights": digests} if digests else {}),
        "contract": algorithm.run.model_dump(mode="json", by_alias=True),
        "isolation": isolation,
        "test_set": set_digest,
        "repeats": repeats,
    }


def run_record(
    algorithm: Algorithm, tested: SelfTest | None, isolation: str, set_name: str, slots: int
) -> dict[str, Any]:
    """What is known of a run before its first case."""
    return {
        "schema": SCHEMA,
        "algorithm": {
            "name": algorithm.name,
            "version": algorithm.manifest.version,
            "digest": algorithm.digest,
            "image_digest": algorithm.image_digest or None,
            "weights": [{"file": file, "digest": digest} for file, digest in algorithm.weights],
        },
        "contract": algorithm.run.model_dump(mode="json", by_alias=True),
        "test_set": set_name,
        "isolation": {
            "name": isolation,
            "version": "" if tested is None else tested.version,
            "self_test": None if tested is None else dict(tested.holds),
        },
        "cases_at_once": slots,
        "hardware": hardware(),
        "software": {
            "nodulebench": __version__,
            "python": platform.python_version(),
            "system": platform.platform(),
        },
    }


def hardware() -> dict[str, Any]:
    """The machine: cores, memory, graphics cards."""
    model = next((line for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "")
    memory = next((line for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), "")
    kilobytes = memory.split()[1] if memory else ""
    return {
        "processor": model.partition(":")[2].strip() or platform.processor(),
        "cores": os.cpu_count(),
        "memory_mb": int(kilobytes) // 1024 if kilobytes.isdigit() else None,
        "gpus": len(graphics_cards()),
    }


def graphics_cards() -> tuple[int, ...]:
    """The graphics cards that there are, by their numbers."""
    names = (path.name.removeprefix("nvidia") for path in Path("/dev").glob("nvidia[0-9]*"))
    return tuple(sorted(int(name) for name in names if name.isdigit()))


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
