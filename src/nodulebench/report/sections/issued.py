"""Who issues a report, when and under which number -> facts for its top, signatures for its end."""

from dataclasses import dataclass, replace

from nodulebench.core.documents.evaluation import Document
from nodulebench.i18n.translator import Language
from nodulebench.report.cells import head, words
from nodulebench.report.tables import Table

SIGNING = ("tested", "checked", "released")
"""Who signs: the person who tested, who checked it, and who releases the report."""


@dataclass(frozen=True, slots=True)
class Issued:
    """What a laboratory puts on its report; what is empty is left out."""

    laboratory: str = ""
    number: str = ""
    """Number of the report."""
    operator: str = ""
    """Who ran the test."""
    date: str = ""
    """The day of issue, as YYYY-MM-DD."""


NOT_ISSUED = Issued()


def issued_by(document: Document, stated: Issued) -> Issued:
    """What was stated; the laboratory is otherwise that of the plan."""
    planned = "" if document.plan is None else document.plan.laboratory
    return replace(stated, laboratory=stated.laboratory or planned)


def issued_facts(issued: Issued, say: Language) -> list[tuple[str, str]]:
    """The facts for the top of the report."""
    stated = (
        ("laboratory", issued.laboratory),
        ("number", issued.number),
        ("date", issued.date),
        ("operator", issued.operator),
    )
    return [(say(f"issued.{name}"), text) for name, text in stated if text]


def signature_table(issued: Issued, say: Language) -> Table | None:
    """Where those who answer for the report sign; None for one that nobody issues."""
    if not (issued.laboratory or issued.number):
        return None
    names = {"tested": issued.operator}
    rows = [
        [head(say(f"signature.{one}")), words(names.get(one, "")), words(""), words("")]
        for one in SIGNING
    ]
    heads = [words(""), *(words(say(f"signature.{key}")) for key in ("name", "day", "sign"))]
    return Table("", heads, rows, kind="signatures")
