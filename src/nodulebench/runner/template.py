"""Write a folder with a small working algorithm as a template for developers."""

import stat
from pathlib import Path

from nodulebench.core.errors import InputError
from nodulebench.io.atomic import staged_folder
from nodulebench.io.marks.submission_folder import MANIFEST

_MANIFEST = """\
name = "{name}"
version = "0.1.0"
threshold = 0.5                 # the operating point; curves use all marks

[run]
command = ["./{program}"]        # called as: {program} /input /output
profile = "native"              # native | grand-challenge | medperf | map
mode = "exec"                   # exec: a process per case | invoke: started once
input = "metaimage"             # metaimage | nifti | dicom

[run.resources]
cpus = 2
memory_gb = 4
gpus = 0
pids = 256
timeout_s = 600
output_mb = 64
"""
_PYTHON = """\
#!/usr/bin/env python3
\"\"\"Marks the densest voxel of a scan: replace this by your algorithm.\"\"\"

import array
import json
import sys
from pathlib import Path

given, out = Path(sys.argv[1]), Path(sys.argv[2])
case = json.loads((given / "case.json").read_text())
voxels = array.array("h", (given / "ct.raw").read_bytes())  # HU; x runs fastest, then y, then z
columns, rows, _ = case["size"]
k, rest = divmod(voxels.index(max(voxels)), columns * rows)
step = [n * mm for n, mm in zip((rest % columns, rest // columns, k), case["spacing_mm"])]
turned = [sum(case["direction"][3 * row + n] * step[n] for n in range(3)) for row in range(3)]
x, y, z = (start + more for start, more in zip(case["origin_mm"], turned))
head = "seriesuid,coordX,coordY,coordZ,probability"
(out / "marks.csv").write_text(f"{head}\\n{case['case_id']},{x},{y},{z},0.9\\n")
"""
_SHELL = """\
#!/bin/sh
# Marks the corner of every scan: replace this by your algorithm.
# $1/ct.mhd is the scan, $1/case.json has its name and its geometry.
set -eu
value() {  # the numbers of a field of case.json, on one line
  tr -d '\\n' < "$2/case.json" | sed -n "s/.*\\"$1\\": \\[\\([^]]*\\)\\].*/\\1/p" | tr -d ' '
}
name=$(sed -n 's/.*"case_id": "\\(.*\\)".*/\\1/p' "$1/case.json")
corner=$(value origin_mm "$1")
{
  echo "seriesuid,coordX,coordY,coordZ,probability"
  echo "$name,$corner,0.9"
} > "$2/marks.csv"
"""
TEMPLATES = {"python": ("run.py", _PYTHON), "shell": ("run.sh", _SHELL)}
"""Language -> the program's file and text."""


def new_algorithm(folder: Path, language: str) -> list[Path]:
    """Write a working algorithm; return its files.

    Raises:
        InputError: if the folder is not empty.
    """
    if not folder.resolve().name.isprintable() or '"' in folder.resolve().name:
        raise InputError.at(str(folder), "cannot be the name of an algorithm.", "Choose another.")
    program, text = TEMPLATES[language]
    with staged_folder(folder, is_new=True) as stage:
        manifest = _MANIFEST.format(name=folder.resolve().name, program=program)
        (stage / MANIFEST).write_text(manifest, encoding="utf-8")
        script = stage / program
        script.write_text(text, encoding="utf-8")
        executable = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
        script.chmod(script.stat().st_mode | executable)
    return [folder / MANIFEST, folder / program]
