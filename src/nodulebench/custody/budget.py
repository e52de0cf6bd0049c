"""Audit log + policy -> how often a developer has looked at the set, and whether once more is left.

A look is a submission scored under a protocol and a plan, or under none. The same again gives the
same answer, so asking again is no further look; that is also how an interrupted one is repeated. A
look counts from the moment it is admitted, whether or not it came to an end.

What cannot be read costs no look, since nothing of the set is told by that. That a look failed over
what is in the set (other cases, too few nodules) is an answer: a developer has it once for nothing,
as whoever mistook one set for another; further ones count as looks.
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
from nodulebench.security.event_log.events import Fact

_INVISIBLE = (
    *((0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2060, 0x206F), (0xFE00, 0xFE0F)),
    *((0x034F, 0x034F), (0x2800, 0x2800), (0x3164, 0x3164), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8)),
    *((0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
"""What shows nothing, beside categories Cc and Cf: of Unicode's Default_Ignorable_Code_Point."""
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
"""Those that are written together, also with Latin letters."""


def same_developer(name: str) -> str:
    """A developer's name as it is shown and written down.

    Neither case nor spaces count, nor wide and composed forms of letters (NFKC), nor characters
    that nobody sees. What is no text counts as the log shows it.
    """
    text = unicodedata.normalize("NFKC", shown(name))
    spaces = {ord(one): " " for one in set(text) if one.isspace()}
    unseen = {ord(one): None for one in set(text) if _is_invisible(one)}
    plain = text.translate({**unseen, **spaces})
    return " ".join(unicodedata.normalize("NFKC", plain.casefold()).split())


def require_one_developer(name: str) -> None:
    """Refuse a name that mixes scripts, or has letters that no language in common use has.

    Raises:
        InputError: if it does.
    """
    scripts = {_script(one) for one in same_developer(name) if one.isalpha()}
    if not (scripts <= {"LATIN", *_ASIAN} or (len(scripts) == 1 and scripts <= _SCRIPTS)):
        raise InputError.at(
            f"developer '{same_developer(name)}'",
            f"is written in letters of {' and '.join(sorted(scripts)).lower()}.",
            "Write it in one script: looks are counted by developer, and look-alikes are one.",
        )


class Names:
    """Developers by the names that were met, the first of each: look-alikes have that one too."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._first: dict[str, str] = {}
        for name in names:
            self.first(name)

    def first(self, name: str) -> str:
        """The first name of the developer who is called so."""
        skeletons = skeletons_of(name)
        known = (self._first[skeleton] for skeleton in skeletons if skeleton in self._first)
        found = next(known, same_developer(name))
        for skeleton in skeletons:
            self._first.setdefault(skeleton, found)
        return found


def similar_names(names: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of names that are not the same and look so, each with the first that it looks like."""
    first: dict[str, str] = {}
    found = []
    for name in names:
        skeletons = skeletons_of(name)
        like = next((first[skeleton] for skeleton in skeletons if skeleton in first), name)
        if same_developer(like) != same_developer(name) and (like, name) not in found:
            found.append((like, name))
        for skeleton in skeletons:
            first.setdefault(skeleton, name)
    return found


def skeletons_of(name: str) -> tuple[str, str]:
    """What a name looks like in capitals and in small letters."""
    plain = same_developer(name)
    return _skeleton(plain.upper()), _skeleton(plain)


def _skeleton(text: str) -> str:
    like = text.translate(_SIMILAR).casefold().translate(_SIMILAR)
    return like.replace("rn", "m").replace("vv", "w").replace("i", "l")


def _script(letter: str) -> str:
    """The script of a letter, as the name of the letter begins."""
    return unicodedata.name(letter, "unknown").split(" ")[0]


def _is_invisible(one: str) -> bool:
    if unicodedata.category(one) in ("Cc", "Cf"):
        return True
    return any(low <= ord(one) <= high for low, high in _INVISIBLE)


VERDICTS = len(get_args(Verdict))
"""Different verdicts that an evaluation under a plan can give; each is an answer."""


class SpentError(InputError):
    """No look is left."""


@dataclass(frozen=True, slots=True)
class ChargedEvaluation:
    """What identifies a look."""

    developer: str
    submission: str
    """Digest of the submission as it was received."""
    protocol: str
    """Digest of the protocol."""
    plan: str = ""
    """Digest of the plan; empty: there was none."""


@dataclass(frozen=True, slots=True)
class Use:
    """How a developer stands to the budget."""

    developer: str
    looks: tuple[ChargedEvaluation, ...]
    allowed: int

    @property
    def left(self) -> int:
        """Looks that the developer still has."""
        return max(0, self.allowed - len(self.looks))


def names_in(events: Sequence[Event]) -> Names:
    """The developers that a log names."""
    named = (event.facts.get("developer") for event in events)
    return Names(str(name) for name in named if name)


def evaluation_of(facts: Mapping[str, Fact], names: Names | None = None) -> ChargedEvaluation:
    """The look that an event is about; with names, under the first one of its developer."""
    name = str(facts.get("developer"))
    return ChargedEvaluation(
        same_developer(name) if names is None else names.first(name),
        str(facts.get("submission")),
        str(facts.get("protocol")),
        str(facts.get("plan") or ""),
    )


def evaluations_of(events: Sequence[Event]) -> tuple[ChargedEvaluation, ...]:
    """Every look that counts, each once, in the order in which they were admitted.

    A look that was answered counts, whatever an event says of it later.
    """
    found: dict[ChargedEvaluation, int] = {}
    answered: set[ChargedEvaluation] = set()
    names = names_in(events)
    for event in events:
        facts = event.facts
        if event.step not in ("look", "evaluated", "failed"):
            continue
        look = evaluation_of(facts, names)
        if event.step == "look":
            found.setdefault(look, event.number)
        elif event.step == "evaluated":
            answered.add(look)
        elif look in found and look not in answered and not facts.get("counts"):
            found = {one: at for one, at in found.items() if (one, at) != (look, facts.get("look"))}
    return tuple(found)


def uses(events: Sequence[Event], reuse: Reuse) -> tuple[Use, ...]:
    """How every developer who has looked stands to the budget."""
    looks = evaluations_of(events)
    developers = dict.fromkeys(look.developer for look in looks)
    return tuple(
        Use(
            name,
            tuple(look for look in looks if look.developer == name),
            reuse.evaluations_per_developer,
        )
        for name in developers
    )


def admit(look: ChargedEvaluation, events: Sequence[Event], reuse: Reuse) -> int:
    """The number of this look among those of its developer.

    Raises:
        SpentError: if the budget of the developer, or of the set, is spent.
    """
    looks = evaluations_of(events)
    look = replace(look, developer=names_in(events).first(look.developer))
    own = [one for one in looks if one.developer == look.developer]
    if look in own:
        return own.index(look) + 1
    if len(own) >= reuse.evaluations_per_developer:
        raise SpentError.at(
            f"developer '{look.developer}'",
            f"has had {len(own)} of {reuse.evaluations_per_developer} looks at this test set.",
            "Test on another set; the policy was signed with this one and stays.",
        )
    if reuse.evaluations_in_total is not None and len(looks) >= reuse.evaluations_in_total:
        raise SpentError.at(
            "test set",
            f"has been looked at {len(looks)} times, which is all its policy allows.",
            "Retire it, and make a new one.",
        )
    return len(own) + 1


def before(look: ChargedEvaluation, events: Sequence[Event]) -> Sequence[Event]:
    """The events before a look was first admitted: what its developer could know by then."""
    names = names_in(events)
    look = replace(look, developer=names.first(look.developer))
    for place, event in enumerate(events):
        if event.step == "look" and evaluation_of(event.facts, names) == look:
            return events[:place]
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
    """Whether a look of this developer was taken under a plan, so that a verdict was told."""
    name = names_in(events).first(developer)
    return any(look.plan for look in evaluations_of(events) if look.developer == name)


def failures_of(developer: str, events: Sequence[Event]) -> tuple[int, int]:
    """How many looks of a developer failed over what is in the set: at no cost, and counted."""
    names = names_in(events)
    name = names.first(developer)
    failed = [event.facts for event in events if event.step == "failed"]
    found = {
        (look, bool(facts["counts"]))
        for facts in failed
        if facts.get("counts") is not None
        if (look := evaluation_of(facts, names)).developer == name
    }
    counted = sum(counts for _, counts in found)
    return len(found) - counted, counted


def answers_of(reuse: Reuse, developer: str = "", events: Sequence[Event] = ()) -> Answers:
    """How much the looks of a developer tell under a policy.

    Args:
        reuse: what is told.
        developer: who looks.
        events: the log before this look. A developer who passed and goes on no longer stops when
            passed. A verdict in addition to rounded metrics, and a failure that counts against
            the budget, are further answers.
    """
    free, counted = failures_of(developer, events)
    more, has_failed = int(counted > 0), free > 0
    if reuse.feedback == "verdict":
        stops = not (more or has_passed(developer, events))
        return Answers(VERDICTS + more, stops_when_passed=stops, has_failed=has_failed)
    if reuse.feedback == "rounded":
        # every multiple from 0 to 1, undefined, and outside; told for a value and for its bound
        told = int(1 / reuse.step + 0.5) + 3
        verdicts = VERDICTS if had_verdict(developer, events) else 1
        count = told ** (2 * len(reuse.metrics)) * verdicts + more
        return Answers(count, has_failed=has_failed)
    return Answers(None, has_failed=has_failed)
