"""Platforms that call this scorer: where their files are, and what to upload."""

import json
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from nodulebench import __version__
from nodulebench.core.json_types import JsonObject
from nodulebench.imaging.rasters import png

PROTOCOL = "protocol.toml"


@dataclass(frozen=True, slots=True)
class Column:
    """A metric in a leaderboard."""

    key: str
    title: str
    is_lower_better: bool


Files = Callable[[str, Sequence[Column]], dict[str, str | bytes]]
"""Name of the image, columns of the leaderboard -> the other files of the packed folder."""


@dataclass(frozen=True, slots=True)
class Platform:
    """Where a platform puts the scorer's inputs, where it reads the answer, and what to upload."""

    name: str
    marks: Path
    """The participant's marks, or the output of their algorithm."""
    reference: Path
    protocol: Path
    answer: Path
    packed: Path
    packed_protocol: Path
    says_version: bool
    """Whether the answer may contain text in addition to numbers."""
    files: Files


def dockerfile(*entry: str, program: str = "") -> str:
    """An image that runs this version as ``entry``; ``program`` is the path of the protocol."""
    lines = [
        "FROM python:3.12-slim",
        f'RUN pip install --no-cache-dir "nodulebench=={__version__}"',
        "RUN useradd --create-home scorer",
        *([f"COPY {PROTOCOL} {program}"] if program else []),
        "USER scorer",
        *([f"ENTRYPOINT {json.dumps(entry)}"] if entry else []),
    ]
    return "\n".join(lines) + "\n"


_TABLES: JsonObject = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _readme(name: str, image: str, columns: Sequence[Column]) -> str:
    rows = (
        f"| {column.title} | `{column.key}` | "
        f"{'ascending' if column.is_lower_better else 'descending'} |"
        for column in columns
    )
    text: str = _TABLES[name]["readme"]
    return text.format(image=image, columns="\n".join(rows), first=columns[0].key)


def _scored_by_entry(name: str, image: str, columns: Sequence[Column]) -> dict[str, str | bytes]:
    program = _TABLES[name]["protocol"]
    return {
        "Dockerfile": dockerfile("nodulebench", "platform", "score", name, program=program),
        "README.md": _readme(name, image, columns),
    }


def _codabench_files(image: str, columns: Sequence[Column]) -> dict[str, str | bytes]:
    program = _TABLES["codabench"]["protocol"]
    command = f"nodulebench platform score codabench --protocol {program}"
    return {
        "Dockerfile": dockerfile(),
        "competition.yaml": json.dumps(_competition(image, columns), indent=2) + "\n",
        "scoring_program/metadata.yaml": f"command: {command}\n",
        "pages/terms.md": "Write here what participants agree to.\n",
        "pages/submit.md": "Send a zip archive with one file of marks in any format that "
        "`nodulebench formats` lists, for example LUNA16's CSV.\n",
        "logo.png": png(np.full((64, 64), 96, np.uint8)),
        "README.md": _readme("codabench", image, columns),
    }


def _competition(image: str, columns: Sequence[Column]) -> JsonObject:
    board = {
        "title": "Results",
        "key": "main",
        "submission_rule": "Force_Last",
        "columns": [
            {
                "title": column.title,
                "key": column.key,
                "index": index,
                "sorting": "asc" if column.is_lower_better else "desc",
                "precision": 3,
            }
            for index, column in enumerate(columns)
        ],
    }
    return {**_TABLES["competition"], "docker_image": image, "leaderboards": [board]}


def _medperf_files(image: str, columns: Sequence[Column]) -> dict[str, str | bytes]:
    return {
        **_scored_by_entry("medperf", image, columns),
        "container_config.yaml": json.dumps(_config(image), indent=2) + "\n",
        "workspace/parameters.yaml": "{}\n",
    }


def _config(image: str) -> JsonObject:
    def volume(path: Path, kind: str) -> dict[str, str]:
        return {"mount_path": str(path), "type": kind}

    medperf = PLATFORMS["medperf"]
    return {
        "container_type": "DockerImage",
        "image": image,
        "tasks": {
            "evaluate": {
                "input_volumes": {
                    "predictions": volume(medperf.marks, "directory"),
                    "labels": volume(medperf.reference, "directory"),
                    "parameters_file": volume(
                        medperf.marks.parent / "parameters" / "parameters_file.yaml", "file"
                    ),
                },
                "output_volumes": {"output_path": volume(medperf.answer, "file")},
            }
        },
    }


def _platform(name: str, files: Files) -> Platform:
    stated: JsonObject = {
        key: Path(value) if isinstance(value, str) else value
        for key, value in _TABLES[name].items()
        if key != "readme"
    }
    return Platform(name=name, **stated, files=files)


_FILES: dict[str, Files] = {
    "grand-challenge": partial(_scored_by_entry, "grand-challenge"),
    "codabench": _codabench_files,
    "medperf": _medperf_files,
}
PLATFORMS = {name: _platform(name, files) for name, files in _FILES.items()}
