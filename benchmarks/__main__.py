"""``python -m benchmarks [NAME ...]``: run all or some of the benchmarks and print their tables."""

import sys
from importlib import import_module

NAMES = (
    "evaluate_luna16",
    "evaluate_growth",
    "evaluate_nifdc",
    "compare_algorithms",
    "compare_ten",
    "interval_coverage",
    "command_line",
    "phantom_likeness",
    "curate_speed",
    "near_duplicates",
    "fuzz_dicom",
    "deidentify_slices",
    "lidc_readers",
)

for name in sys.argv[1:] or NAMES:
    print(f"\n## {name}\n")
    import_module(f"benchmarks.{name}").main()
