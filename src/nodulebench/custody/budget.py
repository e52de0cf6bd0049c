"""Count the evaluations of each developer in the audit log and enforce the evaluation budget.

An evaluation is a submission scored under a protocol and, optionally, a plan. The same evaluation
gives the same answer again, so repeating it is free; an interrupted one is repeated this way. An
evaluation is charged when it is admitted, whether or not it is completed.

A submission that cannot be read is not charged, because that discloses nothing about the set. A
failure because of the set's content (other cases, too few nodules) is an answer. The first is free,
since a developer may have confused two sets; further failures are charged.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from nodulebench.core.documents.records import Verdict
from nodulebench.core.errors import InputError
from nodulebench.core.text import shown
from nodulebench.custody.adaptive_reuse import Answers
from nodulebench.custody.audit import Event
from nodulebench.custody.policy import Reuse
from nodulebench.security.events import Fact

_INVISIBLE = (
    *((0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2060, 0x206F), (0xFE00, 0xFE0F)),
    *((0x034F, 0x034F), (0x2800, 0x2800), (0x3164, 0x3164), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8)),
    *((0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
"""Invisible characters outside categories Cc and Cf (Unicode's Default_Ignorable_Code_Point)."""
_PAIRS = (
    # Cyrillic, capitals and small letters
    "АA ВB ЕE ЅS ІI ЈJ КK МM НH ОO РP СC ТT УY ХX ҮY ҺH ԌG ԚQ ԜW ѴV ӀI ԀD "
    "аa вb еe гr ѕs іi јj кk мm нh оo рp сc тt уy хx үy һh ԁd ԍg ԛq ԝw ѵv ӏl "
    # Greek
    "ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX ϺM "
    "αa βb γy εe ηn ιi κk μu νv οo ρp σo τt υu χx ϳj ωw "
    # Armenian
    "ՏS ՍU ՕO ԼL օo ոn սu ցg հh յj քp զq "
    # Latin in another shape, and signs
    "ıi ɩi ɪi ɑa ɡg ɢg ʀr ʙb ʜh ʟl ɴn ʏy ᴀa ᴄc ᴅd ᴇe ᴊj ᴋk ᴍm ᴏo ᴘp ᴛt ᴜu ᴠv ᴡw ᴢz ꜱs ꜰf ǀl |l "
    # digits and letters
    "0o 1l"
)
_SIMILAR = {ord(pair[0]): pair[1] for pair in _PAIRS.split()}
_SCRIPTS = frozenset(
    [
        "ARABIC",
        "ARMENIAN",
        "BENGALI",
        "CYRILLIC",
        "DEVANAGARI",
        "ETHIOPIC",
        "GEORGIAN",
        "GREEK",
        "GUJARATI",
        "GURMUKHI",
        "HEBREW",
        "KANNADA",
        "KHMER",
        "LAO",
        "LATIN",
        "MALAYALAM",
        "MYANMAR",
        "ORIYA",
        "SINHALA",
        "TAMIL",
        "TELUGU",
        "THAANA",
        "THAI",
        "TIBETAN",
    ]
)
"""Scripts in common use (UTS 31), each of which a name can be written in."""
_ASIAN = frozenset(
    ["BOPOMOFO", "CJK", "HANGUL", "HIRAGANA", "IDEOGRAPHIC", "KATAKANA", "KATAKANA-HIRAGANA"]
)
"""Scripts that are written together, also with Latin letters."""


def same_developer(name: str) -> str:
    """Return the normal form of a developer's name; equal forms are the same developer.

    Case, spaces, wide and composed forms of letters (NFKC) and invisible characters are ignored.
    Bytes that are not valid text are taken as the log shows them.
    """
    text = unicodedata.normalize("NFKC", shown(name))
    spaces = {ord(character): " " for character in set(text) if character.isspace()}
    unseen = {ord(character): None for character in set(text) if _is_invisible(character)}
    plain = text.translate({**unseen, **spaces})
    return " ".join(unicodedata.normalize("NFKC", plain.casefold()).split())


def require_one_developer(name: str) -> None:
    """Require a name in one script in common use."""
    scripts = {_script(character) for character in same_developer(name) if character.isalpha()}
    if not (scripts <= {"LATIN", *_ASIAN} or (len(scripts) == 1 and scripts <= _SCRIPTS)):
        raise InputError.at(
            f"developer '{same_developer(name)}'",
            f"is written in letters of {' and '.join(sorted(scripts)).lower()}.",
            "Write it in one script: evaluations are counted per developer, and names that look "
            "alike count as one developer.",
        )


class Names:
    """Map each developer's names to the first one used; similar names map to it too."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._first: dict[str, str] = {}
        for name in names:
            self.first(name)

    def first(self, name: str) -> str:
        """Return the first name under which this developer appeared."""
        skeletons = skeletons_of(name)
        known = (self._first[skeleton] for skeleton in skeletons if skeleton in self._first)
        first = next(known, same_developer(name))
        for skeleton in skeletons:
            self._first.setdefault(skeleton, first)
        return first


def similar_names(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of different names that look alike, each with the first similar name."""
    first: dict[str, str] = {}
    pairs = []
    for name in names:
        skeletons = skeletons_of(name)
        like = next((first[skeleton] for skeleton in skeletons if skeleton in first), name)
        if same_developer(like) != same_developer(name) and (like, name) not in pairs:
            pairs.append((like, name))
        for skeleton in skeletons:
            first.setdefault(skeleton, name)
    return pairs


def skeletons_of(name: str) -> tuple[str, str]:
    """Return the shapes of a name in capitals and in small letters."""
    plain = same_developer(name)
    return _skeleton(plain.upper()), _skeleton(plain)


def _skeleton(text: str) -> str:
    like = text.translate(_SIMILAR).casefold().translate(_SIMILAR)
    return like.replace("rn", "m").replace("vv", "w").replace("i", "l")


def _script(letter: str) -> str:
    """Return the script of a letter: the first word of its Unicode name."""
    return unicodedata.name(letter, "unknown").split(" ")[0]


def _is_invisible(character: str) -> bool:
    if unicodedata.category(character) in ("Cc", "Cf"):
        return True
    return any(low <= ord(character) <= high for low, high in _INVISIBLE)


VERDICTS = len(get_args(Verdict))
"""Different verdicts that an evaluation under a plan can give; each is an answer."""


class SpentError(InputError):
    """The evaluation budget is spent."""


@dataclass(frozen=True, slots=True)
class ChargedEvaluation:
    """What identifies an evaluation on a sealed set."""

    developer: str
    submission: str
    """Digest of the submission as received."""
    protocol: str
    """Digest of the protocol."""
    plan: str = ""
    """Digest of the plan; empty: no plan."""


@dataclass(frozen=True, slots=True)
class Use:
    """How much of the evaluation budget a developer has used."""

    developer: str
    evaluations: tuple[ChargedEvaluation, ...]
    allowed: int

    @property
    def left(self) -> int:
        return max(0, self.allowed - len(self.evaluations))


def names_in(events: Sequence[Event]) -> Names:
    named = (event.facts.get("developer") for event in events)
    return Names(str(name) for name in named if name)


def evaluation_of(facts: Mapping[str, Fact], names: Names | None = None) -> ChargedEvaluation:
    """Return the evaluation of an event; with ``names``, under its developer's first name."""
    name = str(facts.get("developer"))
    return ChargedEvaluation(
        same_developer(name) if names is None else names.first(name),
        str(facts.get("submission")),
        str(facts.get("protocol")),
        str(facts.get("plan") or ""),
    )


def evaluations_of(events: Sequence[Event]) -> tuple[ChargedEvaluation, ...]:
    """Return all charged evaluations, each once, in the order of admission.

    An evaluation that was answered stays charged, even if a later event says that it failed.
    """
    charged: dict[ChargedEvaluation, int] = {}
    answered: set[ChargedEvaluation] = set()
    names = names_in(events)
    for event in events:
        facts = event.facts
        if event.step not in ("evaluation_charged", "evaluated", "failed"):
            continue
        evaluation = evaluation_of(facts, names)
        if event.step == "evaluation_charged":
            charged.setdefault(evaluation, event.number)
        elif event.step == "evaluated":
            answered.add(evaluation)
        elif evaluation in charged and evaluation not in answered and not facts.get("counts"):
            charged = {
                other: at
                for other, at in charged.items()
                if (other, at) != (evaluation, facts.get("evaluation"))
            }
    return tuple(charged)


def uses(events: Sequence[Event], reuse: Reuse) -> tuple[Use, ...]:
    evaluations = evaluations_of(events)
    developers = dict.fromkeys(evaluation.developer for evaluation in evaluations)
    return tuple(
        Use(
            name,
            tuple(evaluation for evaluation in evaluations if evaluation.developer == name),
            reuse.evaluations_per_developer,
        )
        for name in developers
    )


def admit(evaluation: ChargedEvaluation, events: Sequence[Event], reuse: Reuse) -> int:
    """Return the number of this evaluation among those of its developer.

    Raises:
        SpentError: if the budget of the developer, or of the set, is spent.
    """
    evaluations = evaluations_of(events)
    evaluation = replace(evaluation, developer=names_in(events).first(evaluation.developer))
    own = [charged for charged in evaluations if charged.developer == evaluation.developer]
    if evaluation in own:
        return own.index(evaluation) + 1
    if len(own) >= reuse.evaluations_per_developer:
        raise SpentError.at(
            f"developer '{evaluation.developer}'",
            f"has used {len(own)} of {reuse.evaluations_per_developer} evaluations on this test "
            "set.",
            "Use another test set; the policy was signed with this one and cannot change.",
        )
    if reuse.evaluations_in_total is not None and len(evaluations) >= reuse.evaluations_in_total:
        raise SpentError.at(
            "test set",
            f"has been evaluated {len(evaluations)} times, which is all its policy allows.",
            "Retire it and make a new one.",
        )
    return len(own) + 1


def before(evaluation: ChargedEvaluation, events: Sequence[Event]) -> Sequence[Event]:
    """Return the events before an evaluation was first admitted: what its developer could know."""
    names = names_in(events)
    evaluation = replace(evaluation, developer=names.first(evaluation.developer))
    for number, event in enumerate(events):
        if event.step == "evaluation_charged" and evaluation_of(event.facts, names) == evaluation:
            return events[:number]
    return events


def has_passed(developer: str, events: Sequence[Event]) -> bool:
    """Whether an evaluation of this developer ended with the verdict ``passed``."""
    names = names_in(events)
    name = names.first(developer)
    return any(
        event.step == "evaluated"
        and event.facts.get("verdict") == "passed"
        and names.first(str(event.facts.get("developer"))) == name
        for event in events
    )


def had_verdict(developer: str, events: Sequence[Event]) -> bool:
    """Whether this developer was evaluated under a plan, so that a verdict was disclosed."""
    name = names_in(events).first(developer)
    return any(
        evaluation.plan for evaluation in evaluations_of(events) if evaluation.developer == name
    )


def failures_of(developer: str, events: Sequence[Event]) -> tuple[int, int]:
    """Return how many evaluations failed because of the set's content: free, and charged."""
    names = names_in(events)
    name = names.first(developer)
    failed = [event.facts for event in events if event.step == "failed"]
    failures = {
        (evaluation, bool(facts["counts"]))
        for facts in failed
        if facts.get("counts") is not None
        if (evaluation := evaluation_of(facts, names)).developer == name
    }
    counted = sum(counts for _, counts in failures)
    return len(failures) - counted, counted


def answers_of(reuse: Reuse, developer: str = "", events: Sequence[Event] = ()) -> Answers:
    """Return how much each evaluation of a developer discloses under a policy.

    Args:
        reuse: the policy on disclosure.
        developer: the developer who is evaluated.
        events: the log before this evaluation. A developer who passed and continues no longer stops
            when passed. A verdict in addition to rounded metrics, and a charged failure, are
            further answers.
    """
    free, counted = failures_of(developer, events)
    more, has_failed = int(counted > 0), free > 0
    if reuse.feedback == "verdict":
        stops = not (more or has_passed(developer, events))
        return Answers(VERDICTS + more, stops_when_passed=stops, has_failed=has_failed)
    if reuse.feedback == "rounded":
        # every multiple from 0 to 1, undefined, and outside; for a value and for its bound
        values = int(1 / reuse.step + 0.5) + 3
        verdicts = VERDICTS if had_verdict(developer, events) else 1
        count = values ** (2 * len(reuse.metrics)) * verdicts + more
        return Answers(count, has_failed=has_failed)
    return Answers(None, has_failed=has_failed)
