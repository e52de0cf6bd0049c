"""``python -m benchmarks [NAME ...]``: run some of the benchmarks, or all, and print their tables.

Those of ``LONG`` take the better part of an hour and run only when they are named; their options
are described by ``python -m benchmarks.NAME --help``.
"""

import sys
from importlib import import_module

NAMES = (
    "evaluate_luna16",
    "evaluate_growth",
    "evaluate_nifdc",
    "compare_algorithms",
    "compare_ten",
    "sealed_ten",
    "interval_coverage",
    "command_line",
    "phantom_likeness",
    "candidate_speed",
    "candidate_scans",
    "curate_speed",
    "real_scans",
    "near_duplicates",
    "fuzz_dicom",
    "deidentify_slices",
    "red_team",
    "lidc_readers",
    "annotation_growth",
    "run_isolated",
)
LONG = (
    "equal_algorithms",
    "reading_faults",
    "viewer_speed",
    "broken_runs",
    "executors",
    "intervals",
    "candidate_blocks",
    "candidate_kinds",
    "candidate_phantoms",
    "classifier_folds",
    "click_proposals",
    "mutations",
    "network_lists",
    "network_scans",
    "network_folds",
    "network_systems",
    "network_znet",
    "portal_fuzzed",
    "portal_kills",
    "portal_load",
    "reduction_phantoms",
)

chosen = sys.argv[1:] or NAMES
unknown = [name for name in chosen if name not in (*NAMES, *LONG)]
if unknown:
    sys.exit(f"there is no benchmark '{unknown[0]}'; there are {', '.join((*NAMES, *LONG))}")
for name in chosen:
    print(f"\n## {name}\n")
    sys.argv = [f"benchmarks.{name}"]
    import_module(f"benchmarks.{name}").main()
