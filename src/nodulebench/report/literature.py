"""Published detectors -> a table with our results at its top (LUNA16, table 4)."""

from dataclasses import dataclass

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import RuleSummary
from nodulebench.i18n.numbers import UNDEFINED, decimals
from nodulebench.i18n.translator import Translator
from nodulebench.report.blocks import Row, Table, count, head, words
from nodulebench.report.pages.cells import Cell

RATES = ("4", "1")
"""Rates of false positives at which our results are shown."""
NOT_SCORED = RuleSummary()


@dataclass(frozen=True, slots=True)
class Published:
    """A detector as the LUNA16 paper (Setio et al. 2017) lists it."""

    system: str
    """Its first author."""
    year: int | None
    scans: int
    nodules: int | None
    readings: tuple[tuple[float, float], ...] = ()
    """Sensitivity in percent and false positives per scan."""
    agreement: str = ""
    """How many of four readers had to agree on a nodule."""
    size_mm: str = ""
    thickness_mm: str = ""


PUBLISHED = (
    Published("LUNA16, combined", 2017, 888, 1186, ((98.2, 4), (96.9, 1)), "≥ 3", "≥ 3", "≤ 2.5"),
    Published("Dou", 2016, 888, 1186, ((90.7, 4), (84.8, 1)), "≥ 3", "≥ 3", "≤ 2.5"),
    Published("Setio", 2016, 888, 1186, ((90.1, 4), (85.4, 1)), "≥ 3", "≥ 3", "≤ 2.5"),
    Published("Bergtholdt", 2016, 243, 690, ((85.9, 2.5),), "≥ 1", "≥ 3"),
    Published("Torres", 2015, 949, 1749, ((80, 8),), "≥ 2", "≥ 3"),
    Published("van Ginneken", 2015, 865, 1147, ((76, 4), (73, 1)), "≥ 3", "≥ 3", "≤ 2.5"),
    Published("Brown", 2014, 108, 68, ((75, 2),), "≥ 3", "≥ 4", "0.5–3"),
    Published("Choi", 2013, 58, 151, ((95.3, 2.3),), "≥ 1", "3–30", "0.5–3"),
    Published("Tan", 2013, 360, None, ((83, 4),), "4", "≥ 3"),
    Published("Teramoto", 2013, 84, 103, ((80, 4.2),), "≥ 1", "5–20", "0.5–3"),
    Published("Cascio", 2012, 84, 148, ((97, 6.1), (88, 2.5)), "≥ 1", "≥ 3", "1.25–3"),
    Published("Guo", 2012, 85, 111, ((80, 7.4), (75, 2.8)), "≥ 3", "≥ 3", "1.25–3"),
    Published("Camarlinghi", 2011, 69, 114, ((80, 3),), "≥ 2", "> 3", "0.5–2"),
    Published("Riccardi", 2011, 154, 117, ((71, 6.5), (60, 2.5)), "4", "≥ 3", "0.5–3"),
    Published("Tan", 2011, 125, 80, ((87.5, 4),), "4", "≥ 3", "0.75–3"),
    Published("Messay", 2010, 84, 143, ((82.7, 3),), "≥ 1", "≥ 3", "1.3–3"),
)


def literature_table(document: Document, translate: Translator) -> Table | None:
    """Our algorithms first, then the published ones; None for other protocols than LUNA16."""
    if document.protocol.name != "luna16":
        return None
    rows = []
    for algorithm in document.algorithms:
        result = algorithm.rules.get("luna16", NOT_SCORED)
        readings = {rate: result.value(f"sensitivity_at_fp_rate/{rate}") for rate in RATES}
        known = {rate: value for rate, value in readings.items() if value is not None}
        if known:
            name = translate("literature.this", name=algorithm.name)
            pairs = [f"{decimals(100 * value, 1)} / {rate}" for rate, value in known.items()]
            scans, nodules = result.counts["cases"], result.counts["nodules"]
            rows.append(_row(Published(name, None, scans, nodules), head(name), pairs))
    if not rows:
        return None
    for published in PUBLISHED:
        pairs = [f"{sensitivity:g} / {rate:g}" for sensitivity, rate in published.readings]
        rows.append(_row(published, words(published.system), pairs))
    remark = translate("literature.remark")
    return Table.of(translate("literature.caption"), rows, translate, remark=remark)


def _row(system: Published, named: Cell, readings: list[str]) -> Row:
    year = UNDEFINED if system.year is None else str(system.year)
    return {
        "literature.system": named,
        "literature.year": Cell(year),
        "literature.scans": count(system.scans),
        "literature.nodules": count(system.nodules),
        "literature.thickness": words(system.thickness_mm or UNDEFINED),
        "literature.size": words(system.size_mm or UNDEFINED),
        "literature.agreement": words(system.agreement or UNDEFINED),
        "literature.readings": Cell("; ".join(readings)),
    }
