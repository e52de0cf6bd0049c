from benchmarks.detector_relations import cell, rows

from builders.made_up_chest import faithful, made_up_chest, without_origin
from nodulebench.core.notices import Notice
from nodulebench.detection.candidates import NAMES
from nodulebench.runner.robustness import RelationVerdict

FAULTY = {"largecad", "subsolidcad"}


def test_every_detector_is_tested_on_its_own_marks_and_scans_are_shared():
    seen = []

    def detect(names, volume):
        seen.append(tuple(names))
        return {n: (without_origin if n in FAULTY else faithful)(volume) for n in names}

    table = rows(made_up_chest(), ["shift", "crop"], detect)
    for name in NAMES:
        shift = "**0.00**" if name in FAULTY else "1.00"
        assert (table["shift"][name], table["crop"][name]) == (shift, shift)
    solid = tuple(name for name in NAMES if name != "subsolidcad")
    # as it is, shifted and cut: once for all, and once for the detector with other balls
    assert seen == [solid] * 3 + [("subsolidcad",)] * 3


def test_verdicts_are_printed_as_metrics():
    agree = Notice("marks_agree", {"share": 0.984, "least": 0.9})
    values = {"large_found": 1, "large": 2, "elsewhere": agree}
    assert cell(RelationVerdict(False, Notice("inserted_found", values))) == "**1 of 2; 0.98**"
    counts = [Notice("variant_counted", {"count": count}) for count in (18, 24)]
    many = Notice("about_as_many", {"remaining": 2, "total": 2, "counts": counts})
    assert cell(RelationVerdict(True, many)) == "2 of 2; 18, 24"
    assert cell(RelationVerdict(None, Notice("no_marks_before"))) == "not tested"
