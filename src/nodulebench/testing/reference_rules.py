"""What every reference rule must satisfy."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from nodulebench.core.readings import FINDING_SLICES, FINDINGS, SESSIONS, Readings
from nodulebench.core.tables import CASES, NODULE_SLICES, NODULES
from nodulebench.reference.build import build_reference
from nodulebench.testing.test_sets import expect, with_tables

if TYPE_CHECKING:
    from nodulebench.core.json_types import JsonObject

READERS = ("1", "2", "3")
OFFICIAL = "luna16"
"""The rule of LUNA16, which also lists the members of its nodules among the ignored."""
SHIFT = (17.0, 5.0)
Parameters = Mapping[str, Any]


def random_readings(seed: int, cases: int = 2, drawings: int = 8) -> Readings:
    """Three readers on small cases: squares that overlap, and points; nothing in the last case."""
    random = np.random.default_rng(seed)
    findings: list[JsonObject] = []
    slices: list[JsonObject] = []
    names = [f"case{number}" for number in range(cases + 1)]
    for number in range(cases * drawings):
        key = {"case_id": names[number % cases], "finding_id": f"f{number}"}
        reader = str(random.choice(READERS))
        x, y = (int(value) for value in random.integers(0, 13, 2))
        if random.random() < 0.3:
            kind = str(random.choice(["small_nodule", "non_nodule"]))
            place = {"x_mm": float(x), "y_mm": float(y), "z_mm": 0.0}
            findings.append({**key, "reader_id": reader, "kind": kind, **place})
            continue
        size, at = int(random.integers(0, 6)), int(random.integers(0, 4))
        findings.append({**key, "reader_id": reader, "kind": "nodule"})
        slices.append(
            {
                **key,
                "slice_index": at,
                "outline_index": 0,
                "z_mm": float(at),
                "is_hole": False,
                "convention": "outside_pixels",
                "contour": _rim(x - 1, y - 1, x + size + 1, y + size + 1),
            }
        )
    spaces = {f"{what}_{axis}_mm": at for what, at in _GRID.items() for axis in "xyz"}
    sessions = [{"case_id": name, "reader_id": reader} for name in names for reader in READERS]
    return Readings(
        "contract",
        CASES.conform(pl.DataFrame([{"case_id": name, **spaces} for name in names]), "cases"),
        SESSIONS.conform(pl.DataFrame(sessions), "sessions"),
        FINDINGS.conform(pl.DataFrame(findings, infer_schema_length=None), "findings"),
        FINDING_SLICES.conform(pl.DataFrame(slices), "slices"),
    )


_GRID = {"spacing": 1.0, "origin": 0.0}


def no_finding_is_lost(rule: str, drawn: Readings, parameters: Parameters) -> None:
    table = _nodules(rule, drawn, parameters)
    for (name,), findings in drawn.findings.group_by("case_id"):
        listed = table.filter(case_id=name)["findings"].to_list()
        named = " ".join(listed).split()
        expect(
            set(named) == set(findings["finding_id"]), f"{rule} loses findings, or makes some up"
        )
        expect(rule == OFFICIAL or len(named) == len(set(named)), f"{rule} uses a finding twice")
    readers = drawn.sessions["reader_id"].n_unique()
    are_heard = ((table["agreement"] >= 1) & (table["agreement"] <= readers)).all()
    expect(bool(are_heard), f"{rule} hears more readers than there are, or none")


def a_case_without_marks_has_no_nodules(rule: str, drawn: Readings, parameters: Parameters) -> None:
    silent = replace(drawn, findings=FINDINGS.empty(), slices=FINDING_SLICES.empty())
    expect(not _nodules(rule, silent, parameters).height, f"{rule} makes nodules of nothing")


def cases_do_not_depend_on_each_other(rule: str, drawn: Readings, parameters: Parameters) -> None:
    names = drawn.cases["case_id"].to_list()

    def turned(table: pl.DataFrame) -> pl.DataFrame:
        return pl.concat([table.filter(case_id=name) for name in reversed(names)])

    before, after = (
        _nodules(rule, panel, parameters) for panel in (drawn, with_tables(drawn, turned))
    )
    for name in names:
        same = before.filter(case_id=name).equals(after.filter(case_id=name))
        expect(same, f"{rule} decides a case by other cases")


def shifting_everything_shifts_the_nodules_only(
    rule: str, drawn: Readings, parameters: Parameters
) -> None:
    moved = replace(
        drawn,
        findings=drawn.findings.with_columns(pl.col("x_mm") + SHIFT[0], pl.col("y_mm") + SHIFT[1]),
        slices=drawn.slices.with_columns(
            pl.col("contour").map_elements(_moved, return_dtype=pl.String)
        ),
    )
    before, after = (_nodules(rule, panel, parameters) for panel in (drawn, moved))
    expect(before["findings"].to_list() == after["findings"].to_list(), f"{rule} groups otherwise")
    for name, step in (("x_mm", SHIFT[0]), ("y_mm", SHIFT[1]), ("z_mm", 0.0), ("diameter_mm", 0.0)):
        np.testing.assert_allclose(before[name] + step, after[name], atol=1e-9, err_msg=name)


REFERENCE_RULE_CHECKS: tuple[Callable[[str, Readings, Parameters], None], ...] = (
    no_finding_is_lost,
    a_case_without_marks_has_no_nodules,
    cases_do_not_depend_on_each_other,
    shifting_everything_shifts_the_nodules_only,
)


def check_reference_rule(name: str, **parameters: Any) -> None:
    """Run a registered reference rule through all checks; AssertionError says what it breaks.

    ``parameters`` are those without which it cannot be used; the readers are called 1, 2 and 3.
    """
    for seed in range(5):
        for check in REFERENCE_RULE_CHECKS:
            check(name, random_readings(seed), parameters)


def _nodules(rule: str, drawn: Readings, parameters: Parameters) -> pl.DataFrame:
    made = build_reference(drawn, rule, parameters)
    NODULES.conform(made.nodules, "NODULES")
    if made.slices is not None:
        NODULE_SLICES.conform(made.slices, "NODULE_SLICES")
    return made.nodules


def _rim(x0: int, y0: int, x1: int, y1: int) -> str:
    """The pixels around a block, in order."""
    corners = [
        *((x, y0) for x in range(x0, x1)),
        *((x1, y) for y in range(y0, y1)),
        *((x, y1) for x in range(x1, x0, -1)),
        *((x0, y) for y in range(y1, y0, -1)),
    ]
    return ";".join(f"{x} {y}" for x, y in corners)


def _moved(contour: str) -> str:
    points = (tuple(map(float, point.split())) for point in contour.split(";"))
    return ";".join(f"{x + SHIFT[0]} {y + SHIFT[1]}" for x, y in points)
