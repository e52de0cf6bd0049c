"""The environment in which a program computes as on other machines: threads, instructions."""

import os
import platform

import numpy as np

from builders.places import ROOT

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def with_threads(count: int) -> dict[str, str]:
    """This machine, with so many threads."""
    source = os.pathsep.join(str(ROOT / name) for name in ("src", "tests"))
    # threads that wait actively take the processor from those that work where there are too few
    plain = {"PYTHONPATH": source, "OMP_WAIT_POLICY": "passive"}
    return os.environ | dict.fromkeys(THREADS, str(count)) | plain


def older_processor() -> dict[str, str]:
    """A machine whose processor has no vector instructions but the oldest, and two threads.

    Libraries choose their instructions by the processor; these variables choose the oldest ones.
    """
    oldest = {
        "OPENBLAS_CORETYPE": "Nehalem",
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "NPY_DISABLE_CPU_FEATURES": " ".join(_numpy_choices()),
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX512F,-FMA,-FMA4",
    }
    return with_threads(2) | (oldest if platform.machine() in ("x86_64", "AMD64") else {})


def _numpy_choices() -> list[str]:
    """Groups of instructions that numpy uses on this processor and can do without."""
    known = np.show_config(mode="dicts")["SIMD Extensions"]
    return list(known.get("found", []))
