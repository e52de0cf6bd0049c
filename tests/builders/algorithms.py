"""Algorithms under test as small programs in a folder, and images for them to read."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import numpy as np
import pytest

from nodulebench.imaging.volume import Volume, make_volume


def _what_is_missing() -> str:
    """Why no sandbox can be made on this machine; empty: one can be made."""
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap is not installed"
    tried = [program, "--unshare-all", "--ro-bind", "/", "/", "true"]
    if subprocess.run(tried, capture_output=True, check=False).returncode:
        return "this kernel allows no name spaces"
    return "" if os.access("/sys/fs/cgroup", os.W_OK) else "control groups cannot be made here"


_MISSING = _what_is_missing()
needs_bubblewrap = pytest.mark.skipif(bool(_MISSING), reason=_MISSING)


def _engine_is_missing(name: str) -> str:
    """Why an engine cannot be used on this machine; empty: it can."""
    if _MISSING or os.geteuid() != 0:
        return _MISSING or "containers are tried as root"
    program = shutil.which(name)
    if program is None:
        return f"{name} is not installed"
    done = subprocess.run([program, "version"], capture_output=True, check=False, timeout=60)
    return f"{name} does not answer" if done.returncode else ""


def needs_engine(name: str) -> pytest.MarkDecorator:
    missing = _engine_is_missing(name)
    return pytest.mark.skipif(bool(missing), reason=missing)


NAME = """name=$(sed -n 's/.*"case_id": "\\(.*\\)".*/\\1/p' "$1/case.json")\n"""
MARKS = (
    NAME
    + """echo "seriesuid,coordX,coordY,coordZ,probability" > "$2/marks.csv"
echo "$name,1.0,2.0,3.0,0.9" >> "$2/marks.csv"
"""
)
"""A shell program that writes one mark."""
CALLS = """echo ready
while read -r line; do
%s
echo done
done
"""
"""A shell program that is started once and called for every case."""


def algorithm_folder(folder: Path, program: str = MARKS, run: str = "", **resources: float) -> Path:
    """A folder with a shell (or, by its first line, any other) program and its manifest."""
    folder.mkdir(parents=True)
    script = folder / "run.sh"
    script.write_text(program if program.startswith("#!") else f"#!/bin/sh\n{program}")
    script.chmod(script.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    limits = {"memory_gb": 0.125, "pids": 32, "timeout_s": 20, "output_mb": 4} | resources
    lines = "\n".join(f"{name} = {value}" for name, value in limits.items())
    (folder / "algorithm.toml").write_text(
        f'name = "tested"\nthreshold = 0.5\n[run]\ncommand = ["./run.sh"]\n{run}\n'
        f"[run.resources]\n{lines}\n"
    )
    return folder


def small_volume(value: int = 0) -> Volume:
    """An image of 16 x 16 x 8 voxels of a millimetre."""
    return make_volume(np.full((8, 16, 16), value, np.int16), spacing_mm=(1.0, 1.0, 1.0))


def images_set(folder: Path, cases: int = 3) -> Path:
    """A folder with images of so many small cases, whose voxels tell them apart."""
    from nodulebench.io.images import metaimage

    (folder / "images").mkdir(parents=True)
    for number in range(cases):
        metaimage.write_volume(small_volume(number), folder / "images" / f"scan-{number}.mhd")
    return folder
