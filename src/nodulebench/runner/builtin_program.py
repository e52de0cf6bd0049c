"""Built-in detectors as a program that is run like any other: NAMES WEIGHTS /input /output.

``python -m nodulebench.runner.builtin_program isicad /input /output``
"""

import json
import sys
from pathlib import Path

from nodulebench.core.errors import NoduleBenchError
from nodulebench.detection.detect import (
    DetectionTask,
    detect_case,
    system_named,
    warnings_of,
    write_detections,
)
from nodulebench.i18n.translator import in_english


def main(names: str, *paths: str) -> None:
    *weights, given, out = paths
    case = json.loads((Path(given) / "case.json").read_text(encoding="utf-8"))
    system = system_named(names, [Path(weight) for weight in weights])
    task = DetectionTask(system, Path(given) / case["image"], case["case_id"])
    detection = detect_case(task)
    write_detections(system, [detection], Path(out))
    for name, warning in warnings_of([detection]):
        print(f"warning: {name}: {in_english(warning)}", file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except NoduleBenchError as error:
        sys.exit(str(error))
