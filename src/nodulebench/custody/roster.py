"""Roster of algorithms under test (roster.csv): developers, and aliases for reports.

Its columns are ``file`` (relative to the roster), ``developer`` and ``alias``; ``name``,
``version`` and ``intended_use`` may add what the submission does not state.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nodulebench.core.errors import Problem, raise_problems
from nodulebench.custody.developers import same_developer, similar_names, skeletons_of
from nodulebench.custody.events import Event
from nodulebench.custody.policy import CustodyPolicy
from nodulebench.io.csv_files import CsvFile

ALIAS = re.compile(r"[^\W_](?:[\w .-]{0,38}[\w-])?")
"""Aliases that are valid in reports, in tables and as folder names."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One algorithm of a roster."""

    file: Path
    developer: str
    alias: str
    name: str = ""
    """The developer's own name for it; empty: the name in the submission."""
    version: str = ""
    intended_use: str = ""

    @property
    def facts(self) -> dict[str, str]:
        """Facts of the algorithm in the roster, in addition to its names."""
        stated = {"version": self.version, "intended_use": self.intended_use}
        return {name: text for name, text in stated.items() if text}


def read_roster(path: Path) -> tuple[Entry, ...]:
    needed, optional = ("file", "developer", "alias"), ("name", "version", "intended_use")
    rows = CsvFile(path).read_columns(text=needed, optional_text=optional)
    entries, problems = [], []
    for row in rows.iter_rows(named=True):
        cells = {name: (row.get(name) or "").strip() for name in (*needed, *optional)}
        where = f"{path.name} line {row['line']}"
        empty = [name for name in needed if not cells[name]]
        problems += [Problem(where, f"has no {name}.") for name in empty]
        if not empty:
            entries.append(Entry(path.parent / cells.pop("file"), **cells))
            problems += _wrong_with(entries[-1], where)
    problems += _repeated(entries, path.name)
    problems += _alike(entries, path.name)
    if not entries and not problems:
        problems.append(Problem(path.name, "lists no algorithm."))
    raise_problems(problems)
    return tuple(entries)


def chosen_entries(entries: Sequence[Entry], files: Sequence[Path]) -> tuple[Entry, ...]:
    wanted = {file.resolve(): file for file in files}
    listed = {entry.file.resolve() for entry in entries}
    raise_problems(
        Problem(str(file), "is not in the roster.", "Add it, with its developer and alias.")
        for path, file in wanted.items()
        if path not in listed
    )
    return tuple(entry for entry in entries if not wanted or entry.file.resolve() in wanted)


def alias_problems(
    entries: Sequence[Entry], policy: CustodyPolicy, events: Sequence[Event]
) -> Iterator[Problem]:
    """Return problems of aliases: not in the policy, or used for another developer in this set."""
    allowed = policy.roster.aliases
    owners = alias_owners(events)
    for entry in entries:
        where = f"alias '{entry.alias}'"
        if allowed and entry.alias not in allowed:
            yield Problem(
                where, "is not in the policy.", f"The policy names: {', '.join(allowed)}."
            )
        if owners.get(entry.alias.casefold()) not in (None, same_developer(entry.developer)):
            yield Problem(
                where, "was another developer's algorithm in this set.", "Give another alias."
            )
        elif entry.alias.casefold() not in owners:
            like = {skeleton: known for known in owners for skeleton in skeletons_of(known)}
            for known in {
                like[skeleton] for skeleton in skeletons_of(entry.alias) if skeleton in like
            }:
                yield Problem(
                    where, f"looks like '{known}', which this set has used.", "Give another alias."
                )


def alias_owners(events: Sequence[Event]) -> dict[str, str]:
    owners: dict[str, str] = {}
    for event in events:
        alias = event.facts.get("alias")
        if event.step == "evaluation_charged" and isinstance(alias, str):
            developer = same_developer(str(event.facts["developer"]))
            owners.setdefault(alias.casefold(), developer)
    return owners


def _wrong_with(entry: Entry, where: str) -> Iterator[Problem]:
    if not ALIAS.fullmatch(entry.alias):
        what = f"alias '{entry.alias}' cannot be used as the name of a folder."
        yield Problem(where, what, "Give letters and digits, such as A1; at most 40.")
    if entry.alias.isdigit():
        what = f"alias '{entry.alias}' could be the number of an evaluation."
        yield Problem(where, what, "Give one such as A1.")
    telling = [name for name in (entry.developer, entry.name) if len(same_developer(name)) > 1]
    revealed = [same_developer(name) for name in telling if _is_within(name, entry.alias)]
    if revealed:
        what = f"alias '{entry.alias}' reveals its developer ('{revealed[0]}')."
        yield Problem(where, what, "Give a neutral alias such as A1.")


def _repeated(entries: Sequence[Entry], source: str) -> Iterator[Problem]:
    for word, values in (
        ("alias", [entry.alias.casefold() for entry in entries]),
        ("file", [str(entry.file.resolve()) for entry in entries]),
    ):
        for value in sorted(repeated for repeated, count in Counter(values).items() if count > 1):
            yield Problem(source, f"{word} '{value}' is in several lines.")


def _is_within(name: str, alias: str) -> bool:
    """Whether an alias contains a name, or a similar one."""
    is_revealed = same_developer(name) in same_developer(alias)
    if is_revealed or alias.isascii():  # in ASCII, 1 and l are different letters
        return is_revealed
    return any(map(str.__contains__, skeletons_of(alias), skeletons_of(name)))


def _alike(entries: Sequence[Entry], source: str) -> Iterator[Problem]:
    for word, names in (
        ("aliases", [entry.alias for entry in entries]),
        ("developers", [entry.developer for entry in entries]),
    ):
        for name, other in similar_names(names):
            remedy = "Spell the same name in the same letters; give different ones distinct names."
            yield Problem(source, f"{word} '{name}' and '{other}' look alike.", remedy)
