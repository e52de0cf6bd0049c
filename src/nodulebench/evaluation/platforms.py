"""Platforms that call this scorer: where their files are, and what to upload."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    files: Callable[[str, Sequence[Column]], dict[str, str | bytes]]
    """Name of the image, columns of the leaderboard -> the other files of the packed folder."""


def dockerfile(*entry: str, program: str = "") -> str:
    """An image with only the scorer of this version, run by an unprivileged user.

    ``entry`` is the command that it starts, ``program`` the path of the protocol in the image.
    """
    lines = [
        "FROM python:3.12-slim",
        f'RUN pip install --no-cache-dir "nodulebench=={__version__}"',
        "RUN useradd --create-home scorer",
        *([f"COPY {PROTOCOL} {program}"] if program else []),
        "USER scorer",
        *([f"ENTRYPOINT [{', '.join(map(_quoted, entry))}]"] if entry else []),
    ]
    return "\n".join(lines) + "\n"


def _quoted(word: str) -> str:
    return f'"{word}"'


_PROTOCOL = Path("/opt/nodulebench/protocol.toml")


def _grand_challenge_files(image: str, columns: Sequence[Column]) -> dict[str, str | bytes]:
    orders = {True: "ascending", False: "descending"}
    shown = "\n".join(
        f"| {column.title} | `{column.key}` | {orders[column.is_lower_better]} |"
        for column in columns
    )
    return {
        "Dockerfile": dockerfile(
            "nodulebench", "platform", "score", "grand-challenge", program=str(_PROTOCOL)
        ),
        "README.md": f"""# Evaluation of a phase on grand-challenge.org

1. Image: `docker build --tag {image} . && docker save {image} | gzip > evaluation.tar.gz`;
   upload it as the phase's evaluation method.
2. Ground truth: `tar -czf ground_truth.tar.gz -C ground_truth .`; upload it in the settings of
   the phase.
3. The phase has one input socket of a CT image and one output socket of the kind *Multiple points*.
   Images in the archive are named after the cases of the test set.
4. Score and columns of the leaderboard, as paths in `metrics.json`:

| column | path | order |
|---|---|---|
{shown}
""",
    }


GRAND_CHALLENGE = Platform(
    name="grand-challenge",
    marks=Path("/input"),
    reference=Path("/opt/ml/input/data/ground_truth"),
    protocol=_PROTOCOL,
    answer=Path("/output/metrics.json"),
    packed=Path("ground_truth"),
    packed_protocol=Path("protocol.toml"),
    says_version=True,
    files=_grand_challenge_files,
)


_PROGRAM = Path("/app/program/protocol.toml")
_START = "2030-01-01 00:00:00"


def _codabench_files(image: str, columns: Sequence[Column]) -> dict[str, str | bytes]:
    command = f"nodulebench platform score codabench --protocol {_PROGRAM}"
    return {
        "Dockerfile": dockerfile(),
        "competition.yaml": json.dumps(_competition(image, columns), indent=2) + "\n",
        "scoring_program/metadata.yaml": f"command: {command}\n",
        "pages/terms.md": "Write here what participants agree to.\n",
        "pages/submit.md": "Send a zip archive with one file of marks in any format that "
        "`nodulebench formats` lists, for example LUNA16's CSV.\n",
        "logo.png": png(np.full((64, 64), 96, np.uint8)),
        "README.md": f"""# A competition on Codabench

1. Image: `docker build --tag {image} . && docker push {image}`; a worker pulls it from there.
2. Dates, title and terms: in `competition.yaml` and `pages/`. The file is YAML written as JSON.
3. Bundle: `zip -r bundle.zip competition.yaml logo.png pages scoring_program reference_data`;
   upload it under *Benchmarks, Management, Upload*.
""",
    }


def _competition(image: str, columns: Sequence[Column]) -> JsonObject:
    return {
        "version": 2,
        "title": "Detection of lung nodules",
        "image": "logo.png",
        "terms": "pages/terms.md",
        "docker_image": image,
        "make_programs_available": False,
        "pages": [{"title": "Submit", "file": "pages/submit.md"}],
        "tasks": [
            {
                "index": 0,
                "name": "Detection",
                "scoring_program": "scoring_program",
                "reference_data": "reference_data",
            }
        ],
        "phases": [
            {
                "index": 0,
                "name": "Test",
                "start": _START,
                "tasks": [0],
                "max_submissions": 10,
                "max_submissions_per_day": 2,
                "accepts_only_result_submissions": True,
            }
        ],
        "leaderboards": [
            {
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
        ],
    }


CODABENCH = Platform(
    name="codabench",
    marks=Path("/app/input/res"),
    reference=Path("/app/input/ref"),
    protocol=_PROGRAM,
    answer=Path("/app/output/scores.json"),
    packed=Path("reference_data"),
    packed_protocol=Path("scoring_program/protocol.toml"),
    says_version=False,
    files=_codabench_files,
)


_VOLUMES = Path("/mlcommons/volumes")


def _medperf_files(image: str, columns: Sequence[Column]) -> dict[str, str | bytes]:
    first = columns[0].key
    return {
        "Dockerfile": dockerfile(
            "nodulebench", "platform", "score", "medperf", program=str(_PROTOCOL)
        ),
        "container_config.yaml": json.dumps(_config(image), indent=2) + "\n",
        "workspace/parameters.yaml": "{}\n",
        "README.md": f"""# Metrics of a benchmark on MedPerf

1. Image: `docker build --tag {image} . && docker push {image}`.
2. Register `container_config.yaml` and `workspace/parameters.yaml` as the metrics container. The
   protocol is in the image and under its digest; there are no further parameters.
3. Each site provides its labels as a bundle (`nodulebench convert … --to bundle`), like `labels/`
   here. Models write one file of marks in any format of `nodulebench formats`.
4. The first metric of `results.yaml` is `{first}`.
""",
    }


def _config(image: str) -> JsonObject:
    def volume(path: Path, kind: str) -> dict[str, str]:
        return {"mount_path": str(path), "type": kind}

    return {
        "container_type": "DockerImage",
        "image": image,
        "tasks": {
            "evaluate": {
                "input_volumes": {
                    "predictions": volume(MEDPERF.marks, "directory"),
                    "labels": volume(MEDPERF.reference, "directory"),
                    "parameters_file": volume(
                        _VOLUMES / "parameters" / "parameters_file.yaml", "file"
                    ),
                },
                "output_volumes": {"output_path": volume(MEDPERF.answer, "file")},
            }
        },
    }


MEDPERF = Platform(
    name="medperf",
    marks=_VOLUMES / "predictions",
    reference=_VOLUMES / "labels",
    protocol=_PROTOCOL,
    answer=_VOLUMES / "results" / "results.yaml",
    packed=Path("labels"),
    packed_protocol=Path("protocol.toml"),
    says_version=True,
    files=_medperf_files,
)


PLATFORMS = {platform.name: platform for platform in (GRAND_CHALLENGE, CODABENCH, MEDPERF)}
