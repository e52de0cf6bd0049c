"""Codabench: a competition bundle whose scoring program is one command."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nodulebench.core.json_types import JsonObject
from nodulebench.evaluation.platforms.platform import Column, Platform, dockerfile
from nodulebench.imaging.rasters import png

_PROGRAM = Path("/app/program/protocol.toml")
_START = "2030-01-01 00:00:00"


def _files(image: str, columns: Sequence[Column]) -> dict[str, str | bytes]:
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


PLATFORM = Platform(
    name="codabench",
    marks=Path("/app/input/res"),
    reference=Path("/app/input/ref"),
    protocol=_PROGRAM,
    answer=Path("/app/output/scores.json"),
    packed=Path("reference_data"),
    packed_protocol=Path("scoring_program/protocol.toml"),
    says_version=False,
    files=_files,
)
