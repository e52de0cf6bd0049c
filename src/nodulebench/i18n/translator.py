"""Message codes and names -> text in a language.

The texts are gettext catalogues (``locales/LANGUAGE/LC_MESSAGES/DOMAIN.po``), compiled when the
package is built. Message ids are codes, the same in every language; English has a catalogue like
any other.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from gettext import GNUTranslations
from pathlib import Path
from string import Formatter
from typing import Literal, cast, get_args

from nodulebench.core.notices import Notice, is_notice, read_notice
from nodulebench.core.text import in_a_line
from nodulebench.i18n.numbers import rate

MOST_NAMED = 3
"""How many names of a list are given."""
UNDISCLOSED = "–"
JOINTS = {
    "names": "list.comma",
    "list": "list.comma",
    "words": "list.comma",
    "either": "list.or",
    "all": "list.both",
}
"""How a list is shown -> the key of its separator."""

_OPTIONAL = re.compile(r"\[([^|\]]*)\|?([^\]]*)\]")


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


LanguageName = Literal["en", "zh"]
LANGUAGES: tuple[LanguageName, ...] = get_args(LanguageName)
LOCALES = Path(__file__).parent / "locales"

PAGES, NOTICES = ("report", "viewer"), ("notices", "methods")
NAMES, PORTAL = "names", "portal"
"""The domains of a language. Reports never load the portal's."""

FP_RATE = "fp_rate"
"""How the names of metrics end that are read at rates of false positives."""
COUNTS = (
    *("hit", "missed", "marks", "false_positive", "duplicate", "ignored", "over_cap", "uncounted"),
    *("fp_oe", "fn_ue"),
)
"""The counts that have a heading, in the order in which they are shown."""
RULES_FOR_USES = ("luna16", "center_hit", "center_distance", "area_overlap")
"""The rules whose intended use is stated (NIFDC 2022), in the order in which they are shown."""

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


class _Compiled(GNUTranslations):
    """A compiled catalogue; a text with plural forms has a key for each."""

    _catalog: dict[str | tuple[str, int], str]


class Catalogue(dict[str, str]):
    """The texts of a domain by message id, in the form for many where they have plural forms.

    The id stands after a context and U+0004 where it has one.
    """

    def __init__(self, compiled: _Compiled) -> None:
        entries = compiled._catalog
        texts = {key if isinstance(key, str) else key[0]: entries[key] for key in entries if key}
        super().__init__(texts)
        self._plural_form = compiled.ngettext
        self._with_forms = {key[0] for key in entries if not isinstance(key, str)}

    def form(self, key: str, values: Mapping[str, object]) -> str:
        """The text in the form for the value ``count``, or for the first number that it names."""
        if key not in self._with_forms:
            return self[key]
        named = ("count", *(name for _, name, _, _ in Formatter().parse(self[key]) if name))
        numbers = (values[name] for name in named if isinstance(values.get(name), int))
        return self._plural_form(key, key, cast("int", next(numbers, 0)))


@cache
def catalogue(language: LanguageName, domain: str) -> Catalogue:
    path = LOCALES / language / "LC_MESSAGES" / f"{domain}.mo"
    try:
        with path.open("rb") as file:
            return Catalogue(_Compiled(file))
    except FileNotFoundError as error:
        remedy = "Install the package (pip install -e .), which compiles them."
        raise RuntimeError(f"{path}: the translations are not compiled. {remedy}") from error


class Translator:
    """The texts of one language. Call it with a key and the values of its template."""

    def __init__(self, name: LanguageName, domains: tuple[str, ...] = PAGES) -> None:
        self.name: LanguageName = name
        catalogues = [catalogue(name, domain) for domain in domains]
        self._texts = {key: texts for texts in catalogues for key in texts}
        self._names = catalogue(name, NAMES)

    def _named(self, context: str, name: str) -> str | None:
        return self._names.get(f"{context}\x04{name}")

    def __call__(self, key: str, **values: object) -> str:
        text = self._texts[key].form(key, values)
        return text.format(**values) if values else text

    def hint(self, key: str) -> str:
        return self(f"{key}_hint") if f"{key}_hint" in self._texts else ""

    def texts(self, beginning: str) -> dict[str, str]:
        """Every text whose key begins so, with its braces: for what puts in values elsewhere."""
        return {key: self._texts[key][key] for key in self._texts if key.startswith(beginning)}

    def word(self, name: str) -> str:
        """A name in a document as words: ``center_hit`` -> "center hit"."""
        return self._named("name", name) or name.replace("_", " ")

    def heading(self, name: str) -> str:
        words = self.word(name)
        return words[:1].upper() + words[1:]

    def metric(self, name: str) -> MetricText:
        """The words for a metric, or for one reading of it as in ``sensitivity_at_fp_rate/1``.

        A metric that is not listed is called by its name.
        """
        term = TERMS.get(name, "")
        if translated := self._named("term of IEEE 2802", term):
            term = f"{translated} ({term})"
        if title := self._named("metric", name):
            return MetricText(title, self._named("meaning of a metric", name) or "", term)
        if name.startswith("f") and name[1:].replace(".", "", 1).isdigit():
            meaning = self("metric.f1" if name == "f1" else "metric.f_beta")
            return MetricText(f"F{name[1:]}", meaning, term)
        metric, _, point = name.partition("/")
        if point:
            whole = self.metric(metric)
            key = "metric.reading" if metric.endswith(FP_RATE) else "metric.reading_at"
            title = self(key, title=whole.title, point=self.point(metric, point))
            return MetricText(title, whole.meaning, whole.term)
        return MetricText(self.heading(name), "")

    def point(self, metric: str, point: str) -> str:
        """A point at which a metric is read; rates of false positives as fractions."""
        return rate(float(point)) if metric.endswith(FP_RATE) else point

    def rule(self, name: str) -> str:
        """What a rule counts as a hit; nothing for a rule of another package."""
        return self._named("mark rule", name) or ""

    def count(self, name: str) -> tuple[str, str]:
        return self._named("count", name) or name, self._named("meaning of a count", name) or ""

    @property
    def uses(self) -> tuple[tuple[str, str], ...]:
        """Which rule suits which intended use."""
        context = "use of a mark rule"
        return tuple((rule, self._named(context, rule) or "") for rule in RULES_FOR_USES)

    def stratum(self, name: str) -> str:
        return self._named("stratum", name) or self.heading(name)

    def listed(self, items: Iterable[str]) -> str:
        return self("list.comma").join(items)

    def joined(self, items: Iterable[str]) -> str:
        """Items of a sentence: "a, b and c"."""
        *first, last = items
        return f"{self.listed(first)}{self('list.and')}{last}" if first else last

    def sentences(self, sentences: Iterable[str]) -> str:
        """Sentences one after another; Chinese puts no space between them."""
        return ("" if self.name == "zh" else " ").join(sentences)

    def message(self, notice: object) -> str:
        """The text of a notice, reason or remark; text stays as it is.

        A template names values in braces. After a colon follows how the value is shown: the format
        of a number; ``word``, a name as words; ``names``, a list of quoted names, shortened if it
        is long; ``list``, items one after another, which may be notices or have a count or share
        each; ``words``, these as words; ``either`` and ``all``, the same with *or* and *and*
        between them; or choices, as in ``1=case|*=cases``. Text in square brackets is left out if
        one of its values is not disclosed, or is replaced by the text after a bar: the same
        template serves readers who may not see every value.
        """
        if isinstance(notice, str):
            return notice
        notice = read_notice(notice)
        for domain in NOTICES:
            texts = catalogue(self.name, domain)
            if notice.code in texts:
                template = texts.form(notice.code, notice.values)
                for optional in _OPTIONAL.finditer(template):
                    values = (notice.values.get(name) for name in fields(optional[1]))
                    has_all = all(value not in (None, "") for value in values)
                    template = template.replace(optional[0], optional[1 if has_all else 2])
                return "".join(
                    text
                    if name is None
                    else text + self._shown(notice.values.get(name, UNDISCLOSED), how or "")
                    for text, name, how, _ in Formatter().parse(template)
                )
        # a notice without a text here, as of another program
        stated = ", ".join(f"{name} {value}" for name, value in notice.values.items())
        return f"{notice.code} ({stated})" if stated else notice.code

    def _shown(self, value: object, how: str) -> str:
        """A value of a notice, as the template states after the colon."""
        if isinstance(value, Notice) or is_notice(value):
            return self.message(value)
        if "=" in how:
            choices = dict(choice.split("=", 1) for choice in how.split("|"))
            return choices.get(str(value), choices.get("*", str(value)))
        if isinstance(value, str) and not value.isprintable():
            value = in_a_line(value)  # a name cannot begin a new line
        if how == "word":
            return self.word(str(value))
        if how not in JOINTS:
            try:
                return format(value, how)
            except (TypeError, ValueError):
                return str(value)
        joint, of_item = self(JOINTS[how]), "word" if how == "words" else ""
        if isinstance(value, Mapping):
            counted = ((self._shown(name, of_item), value[name]) for name in value)
            return joint.join(
                f"{name} {number:,}" if isinstance(number, int) else f"{name} {number:.1%}"
                for name, number in counted
            )
        several = value if isinstance(value, list | tuple) else [value]
        items = [self._shown(item, of_item) for item in several]
        if how != "names":
            return joint.join(items)
        shown = [self("list.quoted", name=item) for item in items[:MOST_NAMED]]
        return joint.join(shown) + (self("list.more") if len(items) > MOST_NAMED else "")

    def messages(self, notices: object) -> str:
        """Several notices as one statement; one notice may be given without a list."""
        several = notices if isinstance(notices, list | tuple) else [notices]
        return self("list.then").join(self.message(notice) for notice in several)


@cache
def translator(name: LanguageName = "en") -> Translator:
    return Translator(name)


@cache
def portal_translator(name: LanguageName = "en") -> Translator:
    """The translator of that language with the texts of the portal."""
    return Translator(name, (*PAGES, PORTAL))


def in_english(notice: object) -> str:
    """A notice in English, for the command line and tables of plain text."""
    return translator("en").message(notice)
