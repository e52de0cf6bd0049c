"""MedPerf: a metrics container that runs at the sites; labels never leave a site."""

import json
from collections.abc import Sequence
from pathlib import Path

from nodulebench.core.json_types import JsonObject
from nodulebench.evaluation.platforms.platform import Column, Platform, dockerfile

_PROTOCOL = Path("/opt/nodulebench/protocol.toml")
_VOLUMES = Path("/mlcommons/volumes")


def _files(image: str, columns: Sequence[Column]) -> dict[str, str | bytes]:
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
                    "predictions": volume(PLATFORM.marks, "directory"),
                    "labels": volume(PLATFORM.reference, "directory"),
                    "parameters_file": volume(
                        _VOLUMES / "parameters" / "parameters_file.yaml", "file"
                    ),
                },
                "output_volumes": {"output_path": volume(PLATFORM.answer, "file")},
            }
        },
    }


PLATFORM = Platform(
    name="medperf",
    marks=_VOLUMES / "predictions",
    reference=_VOLUMES / "labels",
    protocol=_PROTOCOL,
    answer=_VOLUMES / "results" / "results.yaml",
    packed=Path("labels"),
    packed_protocol=Path("protocol.toml"),
    says_version=True,
    files=_files,
)
