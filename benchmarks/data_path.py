"""How many functions and modules does a file of marks pass on its way to the report?

::

    python -m benchmarks.data_path          # counts, also by package
    python -m benchmarks.data_path --list   # each function
"""

import sys
import threading
from collections import Counter
from inspect import CO_NEWLOCALS
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import nodulebench
from benchmarks.measure import DATA
from nodulebench.cli import run

PACKAGE = Path(nodulebench.__file__).parent
LUNA16 = DATA / "luna16"


def main() -> None:
    """Evaluate a public LUNA16 submission, and count the functions of the package that ran."""
    called: set[tuple[str, str]] = set()

    def record(frame: FrameType, event: str, _value: object) -> None:
        code = frame.f_code
        is_function = code.co_flags & CO_NEWLOCALS and not code.co_name.startswith("<")
        if event == "call" and is_function and code.co_filename.startswith(str(PACKAGE)):
            called.add((str(Path(code.co_filename).relative_to(PACKAGE)), code.co_qualname))

    with TemporaryDirectory() as folder:
        marks = LUNA16 / "submissions" / "deeplung_dpn26_888.csv.gz"
        options = ["--reference", str(LUNA16), "--out", f"{folder}/result"]
        is_list, sys.argv = "--list" in sys.argv, ["nodulebench", "evaluate", str(marks), *options]
        sys.setprofile(record)
        threading.setprofile(record)
        try:
            run()
        except SystemExit as ended:
            if ended.code:
                raise
        finally:
            sys.setprofile(None)
    if is_list:
        print(*(f"{module} {name}" for module, name in sorted(called)), sep="\n")
    modules = {module for module, _ in called}
    print(f"{len(called)} functions in {len(modules)} modules and templates")
    print(Counter(module.partition("/")[0] for module, _ in called).most_common())


if __name__ == "__main__":
    main()
