"""Keys and names -> the words of a language: every word that a report says of itself is here.

A language is a folder: sentences and headings by key, and in ``names`` what metrics, rules, types
and labels are called. All languages have the same keys.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal, get_args

from nodulebench.core.notices import read_notice
from nodulebench.i18n.messages import NoticeFormatter, untranslated
from nodulebench.i18n.numbers import rate

LanguageName = Literal["en", "zh"]
PARTS = (
    *("page", "results", "compared", "methods", "sentences", "checklist", "curated", "coverage"),
    "workbench",
)
"""The modules of a language that hold its texts."""
FP_RATE = "fp_rate"
"""How the names of metrics end that are read at rates of false positives."""
NOTICE_PARTS = (
    "notices",
    "reasons",
    "statistics",
    "methods",
    "planning",
    "robustness",
    "curation",
    "coverage",
)
"""The modules of a language that hold what notices say, by code."""
PORTAL_PARTS = (
    "portal.frame",
    "portal.people",
    "portal.boards",
    "portal.entries",
    "portal.terms",
    "portal.dashboard",
    "portal.projects",
    "portal.exams",
)
"""The modules of a language that hold the texts of the portal, which no report loads."""
LANGUAGES: tuple[LanguageName, ...] = get_args(LanguageName)

TERMS = {
    "recall": "lesion localisation rate",
    "sensitivity_at_fp_rate": "lesion localisation rate",
    "miss_rate": "miss rate",
    "precision": "precision",
    "f1": "F1",
    "fp_per_case": "non-lesion localisation rate",
    "case_sensitivity": "sensitivity",
    "case_sensitivity_at_fpf": "sensitivity",
    "case_specificity": "specificity",
    "average_precision": "AP",
    "malignancy_accuracy": "accuracy",
    "malignancy_sensitivity": "sensitivity",
    "malignancy_sensitivity_at_fpf": "sensitivity",
    "malignancy_specificity": "specificity",
    "malignancy_precision": "positive predictive value",
    "malignancy_f_beta": "F1",
    "density_accuracy_of_found": "accuracy",
    "density_kappa": "kappa",
    "type_kappa": "kappa",
    "category_agreement": "accuracy",
    "category_kappa": "kappa",
    "category_kappa_linear": "kappa",
    "category_kappa_quadratic": "kappa",
    "mean_dice": "Dice",
    "mean_iou": "IoU",
    "pooled_dice": "Dice",
    "pooled_iou": "IoU",
}
"""Metrics that have a term in IEEE 2802-2022, and that term."""


@dataclass(frozen=True, slots=True)
class MetricText:
    """How a metric is called and what it says."""

    title: str
    meaning: str
    term: str = ""
    """The term of IEEE 2802-2022, where it has one."""


class Translator:
    """The words of one language. Call it with a key and the values of its template."""

    def __init__(self, name: LanguageName, parts: tuple[str, ...] = PARTS) -> None:
        self.name: LanguageName = name
        self._texts: Mapping[str, str] = {
            key: text
            for part in parts
            for key, text in import_module(f"nodulebench.i18n.{name}.{part}").TEXTS.items()
        }
        self._names: Any = import_module(f"nodulebench.i18n.{name}.names")

    def __call__(self, key: str, **values: object) -> str:
        """The text of a key."""
        text = self._texts[key]
        return text.format(**values) if values else text

    def texts(self, beginning: str) -> dict[str, str]:
        """Every text whose key begins so, with its braces: for what puts in values elsewhere."""
        return {key: text for key, text in self._texts.items() if key.startswith(beginning)}

    @property
    def code(self) -> str:
        """The language as a web page states it."""
        return self("language.code")

    def word(self, name: str) -> str:
        """A name in a document as words: ``center_hit`` -> "center hit"."""
        found: str | None = self._names.NAMES.get(name)
        return found or name.replace("_", " ")

    def heading(self, name: str) -> str:
        """A name as the heading of a table."""
        words = self.word(name)
        return words[:1].upper() + words[1:]

    def metric(self, name: str) -> MetricText:
        """The words for a metric, or for one reading of it as in ``sensitivity_at_fp_rate/1``.

        A metric that is not listed is called by its name.
        """
        if name in self._names.METRICS:
            title, meaning = self._names.METRICS[name]
            return MetricText(title, meaning, self._term(name))
        if name.startswith("f") and name[1:].replace(".", "", 1).isdigit():
            meaning = self("metric.f1" if name == "f1" else "metric.f_beta")
            return MetricText(f"F{name[1:]}", meaning, self._term(name))
        metric, _, point = name.partition("/")
        if point:
            found = self.metric(metric)
            return MetricText(self.reading(metric, point), found.meaning, found.term)
        return MetricText(self.heading(name), "")

    def _term(self, metric: str) -> str:
        term = TERMS.get(metric, "")
        own = self._names.TERMS.get(term)
        return f"{own} ({term})" if own else term

    def reading(self, metric: str, point: str) -> str:
        """The title of a metric at one of its points."""
        key = "metric.reading" if metric.endswith(FP_RATE) else "metric.reading_at"
        return self(key, title=self.metric(metric).title, point=self.point(metric, point))

    def point(self, metric: str, point: str) -> str:
        """A point at which a metric is read; rates of false positives as fractions."""
        return rate(float(point)) if metric.endswith(FP_RATE) else point

    def rule(self, name: str) -> str:
        """What a rule counts as a hit; nothing for a rule of others."""
        found: str = self._names.RULES.get(name, "")
        return found

    def count(self, name: str) -> tuple[str, str]:
        """Heading and meaning of a count."""
        found: tuple[str, str] = self._names.COUNTS[name]
        return found

    @property
    def counts(self) -> tuple[str, ...]:
        """The counts that have words, in the order in which they are shown."""
        return tuple(self._names.COUNTS)

    @property
    def uses(self) -> tuple[tuple[str, str], ...]:
        """Which rule suits which intended use."""
        found: tuple[tuple[str, str], ...] = self._names.RULES_FOR_USES
        return found

    def stratum(self, name: str) -> str:
        """The heading of a division into strata."""
        found: str | None = self._names.STRATA.get(name)
        return found or self.heading(name)

    def listed(self, items: Iterable[str]) -> str:
        """Items one after another."""
        return self("list.comma").join(items)

    def joined(self, items: Iterable[str]) -> str:
        """Items of a sentence: "a, b and c"."""
        *first, last = items
        return f"{self.listed(first)}{self('list.and')}{last}" if first else last

    def message(self, told: Any) -> str:
        """A notice, reason or remark in words; what is in words stays so."""
        if isinstance(told, str):
            return told
        notice = read_notice(told)
        template = self._template(notice.code)
        if template is None:
            return untranslated(notice)
        return NoticeFormatter(self).words(template, notice.values)

    def messages(self, told: Any) -> str:
        """Several notices as one statement; a single one is one by itself."""
        several = told if isinstance(told, list | tuple) else [told]
        return self("list.then").join(self.message(one) for one in several)

    def _template(self, code: str) -> str | None:
        """The words of a code; the modules that hold them are loaded until it is found."""
        for part in NOTICE_PARTS:
            found: str | None = import_module(f"nodulebench.i18n.{self.name}.{part}").NOTICES.get(
                code
            )
            if found is not None:
                return found
        return None


@cache
def translator(name: LanguageName = "en") -> Translator:
    """The language of that name."""
    return Translator(name)


@cache
def portal_translator(name: LanguageName = "en") -> Translator:
    """The language of that name with the words of the portal."""
    return Translator(name, (*PARTS, *PORTAL_PARTS))


def in_english(told: Any) -> str:
    """A notice in English, as the command line and tables of plain text say it."""
    return translator("en").message(told)
