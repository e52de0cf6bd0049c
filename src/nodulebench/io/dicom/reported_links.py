"""Reports whose boxes on single slices are findings of their own -> linked across slices."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from nodulebench.core.errors import Problems
from nodulebench.core.notices import Notice
from nodulebench.imaging.linking import link_boxes
from nodulebench.io.dicom.codes import BOX
from nodulebench.io.dicom.findings import CasesAtHand, Report, ReportedFinding
from nodulebench.io.dicom.reported_tables import slices_of_mark


def linked(reports: Sequence[Report], at_hand: CasesAtHand) -> tuple[list[Report], list[Notice]]:
    """Reports in which boxes on adjacent slices that are findings of their own are one finding.

    Programs that work slice by slice report a nodule so. Boxes are linked as those of other
    formats without ids, and the notice tells; findings with more than a single box stay.
    """
    grids = at_hand.grids()
    made: list[Report] = []
    notices = []
    for report in reports:
        boxes = [
            one
            for one in report.findings
            if len(one.regions) == 1 and one.regions[0].purpose == BOX.key and one.outlines
        ]
        grid = grids.get(at_hand.case_id(report.series_uid))
        if len(boxes) < 2 or grid is None:
            made.append(report)
            continue
        rows = [next(iter(slices_of_mark(one, grid, Problems())), None) for one in boxes]
        if None in rows:
            made.append(report)  # what is wrong with them is told when they are placed
            continue
        table = pl.DataFrame([{"case_id": "", **row} for row in rows if row is not None])
        numbers = link_boxes(table).tolist()
        chains = [
            [one for one, chain in zip(boxes, numbers, strict=True) if chain == number]
            for number in dict.fromkeys(numbers)
        ]
        if len(chains) < len(boxes):
            values = {"file": report.name, "boxes": len(boxes), "marks": len(chains)}
            notices.append(Notice("boxes_linked", {**values, "what": "findings"}))
        others = [one for one in report.findings if not any(one is box for box in boxes)]
        made.append(replace(report, findings=(*others, *map(_joined, chains))))
    return made, notices


def _joined(chain: list[ReportedFinding]) -> ReportedFinding:
    """Boxes of one finding as one: its ratings are those of the first box that has them."""
    first = chain[0]
    scores = [one.numbers["score"] for one in chain if "score" in one.numbers]
    numbers = {name: value for one in reversed(chain) for name, value in one.numbers.items()}
    said = {name: value for one in reversed(chain) for name, value in one.said.items()}
    return replace(
        first,
        regions=tuple(region for one in chain for region in one.regions),
        numbers=numbers | ({"score": max(scores)} if scores else {}),
        said=said,
    )
