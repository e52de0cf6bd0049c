"""Document -> what a reader must know before the numbers, and remarks on how rules were applied.

What several results share is said once.
"""

from collections.abc import Iterator

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.notices import Notice
from nodulebench.i18n.translator import Language
from nodulebench.report.cells import head, words
from nodulebench.report.tables import Table

DOUBTS = ("would_be_hit", "few_hits", "scores_inverted", "names_nearly_match", "marks_repeated")
"""Notices that say that a submission is probably not what was meant."""
About = tuple[str, str]
"""Whom a message concerns, and the message."""


def notices(document: Document, say: Language) -> list[About]:
    """Everything a reader must know before the numbers."""
    found = [(say.word("reference"), text) for text in document.notices]
    for algorithm in document.algorithms:
        found += [(algorithm.name, text) for text in algorithm.notices]
    told = [(about, say.message(text)) for about, text in found]
    for algorithm, rule, result in document.results:
        about = _about(algorithm.name, rule, say)
        if result.undefined:
            reason = say.message(result.undefined)
            told.append((about, say("notice.not_applied", reason=reason)))
        told += [(about, say.message(text)) for text in result.notices]
    return _said_once(told, document, say)


def has_doubts(document: Document) -> bool:
    """Whether a submission may well be wrong, so that its reader must see it at once."""
    return any(_is_doubt(one) for algorithm in document.algorithms for one in algorithm.notices)


def _is_doubt(notice: Notice) -> bool:
    if notice.code == "cases_without_marks":
        return bool(2 * notice.values.get("count", 0) > notice.values.get("cases", 0))
    return notice.code in DOUBTS


def remarks_table(document: Document, say: Language) -> Table | None:
    """How the rules were applied."""
    told = _said_once(list(_remarks(document, say)), document, say)
    if not told:
        return None
    rows = [[head(about), words(text)] for about, text in told]
    return Table(say("remarks.caption"), [], rows)


def _remarks(document: Document, say: Language) -> Iterator[About]:
    for algorithm, rule, result in document.results:
        for text in result.remarks:
            yield _about(algorithm.name, rule, say), say.message(text)


def _about(name: str, rule: str, say: Language) -> str:
    return say("notice.about", name=name, rule=say.word(rule))


def _said_once(told: list[About], document: Document, say: Language) -> list[About]:
    concerned: dict[str, list[str]] = {}
    for about, text in told:
        concerned.setdefault(text, []).append(about)
    names = [one.name for one in document.algorithms]
    everyone = {
        _about(say("notice.all"), rule, say): {_about(name, rule, say) for name in names}
        for rule in document.rules
    } | {say("notice.all"): set(names)}
    return [
        (_together(abouts, everyone if len(names) > 1 else {}), text)
        for text, abouts in concerned.items()
    ]


def _together(abouts: list[str], everyone: dict[str, set[str]]) -> str:
    """Whom a notice concerns; all algorithms are not listed one by one."""
    for name, members in everyone.items():
        if members <= set(abouts):
            abouts = [name, *(one for one in abouts if one not in members)]
    return "; ".join(abouts)
