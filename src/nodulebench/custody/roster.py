"""roster.csv -> whose algorithms are tested, and under which alias each stands in what goes out.

Its columns are ``file`` (from the folder of the roster), ``developer`` and ``alias``; ``name``,
``version`` and ``intended_use`` may say what the submission itself does not.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nodulebench.core.errors import Problem, raise_problems
from nodulebench.custody.audit import Event
from nodulebench.custody.budget import same_developer, similar_names, skeletons_of
from nodulebench.custody.policy import CustodyPolicy
from nodulebench.io.csv_files import read_columns

ALIAS = re.compile(r"[^\W_](?:[\w .-]{0,38}[\w-])?")
"""What can stand in a report, in a table and as the name of a folder."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One algorithm of a roster."""

    file: Path
    developer: str
    alias: str
    name: str = ""
    """What its developer calls it; empty: as the submission says."""
    version: str = ""
    intended_use: str = ""

    @property
    def facts(self) -> dict[str, str]:
        """What the roster states of the algorithm beside its names."""
        stated = {"version": self.version, "intended_use": self.intended_use}
        return {name: text for name, text in stated.items() if text}


def read_roster(path: Path) -> tuple[Entry, ...]:
    """The entries of a roster, in its order.

    Raises:
        InputError: with every problem of the file: what is empty, stands twice or gives somebody
            away.
    """
    needed, optional = ("file", "developer", "alias"), ("name", "version", "intended_use")
    rows = read_columns(path, text=needed, numbers=(), optional_text=optional)
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
    """The entries of these files; of all where none is given.

    Raises:
        InputError: for each file that the roster does not list.
    """
    wanted = {file.resolve(): file for file in files}
    listed = {entry.file.resolve() for entry in entries}
    raise_problems(
        Problem(str(file), "is not in the roster.", "Add it, with its developer and alias.")
        for place, file in wanted.items()
        if place not in listed
    )
    return tuple(entry for entry in entries if not wanted or entry.file.resolve() in wanted)


def alias_problems(
    entries: Sequence[Entry], policy: CustodyPolicy, events: Sequence[Event]
) -> Iterator[Problem]:
    """Aliases that the policy does not know, or that were another developer's in this set."""
    allowed = policy.roster.aliases
    owners = alias_owners(events)
    for entry in entries:
        where = f"alias '{entry.alias}'"
        if allowed and entry.alias not in allowed:
            yield Problem(
                where, "is none of those in the policy.", f"It names: {', '.join(allowed)}."
            )
        if owners.get(entry.alias.casefold()) not in (None, same_developer(entry.developer)):
            yield Problem(
                where, "stood for another developer's algorithm in this set.", "Give another one."
            )
        elif entry.alias.casefold() not in owners:
            like = {looks: known for known in owners for looks in skeletons_of(known)}
            for known in {like[looks] for looks in skeletons_of(entry.alias) if looks in like}:
                yield Problem(
                    where, f"looks like '{known}', which stands in this set.", "Give another one."
                )


def alias_owners(events: Sequence[Event]) -> dict[str, str]:
    """The developer for whose algorithm each alias was first used in a log."""
    found: dict[str, str] = {}
    for event in events:
        alias = event.facts.get("alias")
        if event.step == "look" and isinstance(alias, str):
            developer = same_developer(str(event.facts["developer"]))
            found.setdefault(alias.casefold(), developer)
    return found


def _wrong_with(entry: Entry, where: str) -> Iterator[Problem]:
    if not ALIAS.fullmatch(entry.alias):
        yield Problem(
            where,
            f"alias '{entry.alias}' cannot be used as the name of a folder.",
            "Give letters and digits, such as A1; at most 40.",
        )
    if entry.alias.isdigit():
        yield Problem(
            where, f"alias '{entry.alias}' could be the number of a look.", "Give one such as A1."
        )
    telling = [one for one in (entry.developer, entry.name) if len(same_developer(one)) > 1]
    told = [same_developer(one) for one in telling if _is_within(one, entry.alias)]
    if told:
        yield Problem(
            where,
            f"alias '{entry.alias}' gives its developer away ('{told[0]}').",
            "Give an alias that says nothing, such as A1.",
        )


def _repeated(entries: Sequence[Entry], source: str) -> Iterator[Problem]:
    for word, values in (
        ("alias", [entry.alias.casefold() for entry in entries]),
        ("file", [str(entry.file.resolve()) for entry in entries]),
    ):
        for value in sorted(one for one, count in Counter(values).items() if count > 1):
            yield Problem(source, f"{word} '{value}' stands in several lines.")


def _is_within(name: str, alias: str) -> bool:
    """Whether an alias holds a name, or what looks like it."""
    is_told = same_developer(name) in same_developer(alias)
    if is_told or alias.isascii():  # where 1 and l are not meant to be alike
        return is_told
    return any(map(str.__contains__, skeletons_of(alias), skeletons_of(name)))


def _alike(entries: Sequence[Entry], source: str) -> Iterator[Problem]:
    for word, names in (
        ("aliases", [entry.alias for entry in entries]),
        ("developers", [entry.developer for entry in entries]),
    ):
        for name, other in similar_names(names):
            yield Problem(
                source,
                f"{word} '{name}' and '{other}' look alike.",
                "Write one in the same letters everywhere; give others names that differ.",
            )
