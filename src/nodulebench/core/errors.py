"""What can go wrong, in words a user can act on."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from pathlib import Path  # takes 4 ms, which every command would feel

MOST_PROBLEMS_SHOWN = 20
Item = TypeVar("Item")
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of the input: where it is, what is wrong, and what to do."""

    where: str
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        sentence = f"{self.where}: {self.what}"
        return f"{sentence} {self.remedy}" if self.remedy else sentence


class Problems(list[Problem]):
    """The problems found so far, reported together."""

    def add(self, where: "str | Path", what: str, remedy: str = "") -> None:
        self.append(Problem(str(where), what, remedy))


_ROW = re.compile(r"(.+) (line|row) (\d+)")
_QUOTED = re.compile(r"'[^']*'")
_FEWEST_FOLDED, _MOST_ROWS, _MOST_VALUES = 3, 8, 3


def folded_problems(problems: Iterable[Problem]) -> list[Problem]:
    """The problems; those that say the same of several rows of a file become one.

    They may differ in the value that they quote.
    """
    groups: dict[tuple[str, ...], list[tuple[str, Problem]]] = {}
    for number, problem in enumerate(problems):
        row = _ROW.fullmatch(problem.where)
        if row is None or len(_QUOTED.findall(problem.what)) > 1:
            groups[(str(number),)] = [("", problem)]
            continue
        same = (row[1], row[2], _QUOTED.sub("", problem.what), problem.remedy)
        groups.setdefault(same, []).append((row[3], problem))
    folded: list[Problem] = []
    for key, members in groups.items():
        if len(members) < _FEWEST_FOLDED:
            folded += [problem for _, problem in members]
            continue
        what, remedy = members[0][1].what, members[0][1].remedy
        values = list(dict.fromkeys("".join(_QUOTED.findall(each.what)) for _, each in members))
        if quoted := _QUOTED.search(what):
            what = what.replace(quoted[0], _shortened(values, _MOST_VALUES))
        if len(members) > _MOST_ROWS:
            what = f"{len(members)} rows: {what}"
        rows = _shortened([row_number for row_number, _ in members], _MOST_ROWS)
        folded.append(Problem(f"{key[0]} {key[1]}s {rows}", what, remedy))
    return folded


def _shortened(items: list[str], most: int) -> str:
    return ", ".join(items[:most]) + (", ..." if len(items) > most else "")


def did_you_mean(name: str, known: Iterable[str], most: int = 1) -> str:
    """The known names that a name is like, as a question after a space; nothing where none is."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=most)
    return f" Did you mean {' or '.join(repr(near_name) for near_name in near)}?" if near else ""


class NoduleBenchError(Exception):
    """The base of every error that NoduleBench raises on purpose."""


class InputError(NoduleBenchError):
    """The input cannot be used; all its problems are reported together."""

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems: Sequence[Problem] = (
            (problems,) if isinstance(problems, Problem) else tuple(problems)
        )
        folded = folded_problems(self.problems)
        shown = [str(problem) for problem in folded[:MOST_PROBLEMS_SHOWN]]
        hidden = len(folded) - len(shown)
        if hidden:
            shown.append(f"... and {hidden} more problems of the same input.")
        super().__init__("\n".join(shown))

    def __reduce__(self) -> tuple[type[Self], tuple[Sequence[Problem]]]:
        """Travel between processes with every problem."""
        return type(self), (self.problems,)

    @classmethod
    def at(cls, where: "str | Path", what: str, remedy: str = "") -> Self:
        return cls(Problem(str(where), what, remedy))


def raise_problems(problems: Iterable[Problem]) -> None:
    """Tell all the problems that were found; nothing happens where there are none."""
    problem_list = tuple(problems)
    if problem_list:
        raise InputError(problem_list)


@contextmanager
def collect_problems(problems: list[Problem]) -> Iterator[None]:
    """Collect the problems of refused input, so that all can be reported together."""
    try:
        yield
    except InputError as error:
        problems.extend(error.problems)


def map_collecting_problems(items: Iterable[Item], make: Callable[[Item], Made]) -> list[Made]:
    """What is made of every item."""
    made: list[Made] = []
    problems = Problems()
    for item in items:
        with collect_problems(problems):
            made.append(make(item))
    raise_problems(problems)
    return made


def first_line(error: BaseException) -> str:
    """What an error of another package says, in a line."""
    return str(error).strip().partition("\n")[0][:200] or type(error).__name__


class UnknownNameError(NoduleBenchError):
    """A name that is in no registry."""


class UndefinedError(NoduleBenchError):
    """A metric that these data leave undefined, with the code and the values of the reason.

    ``reason_of`` in ``core/notices.py`` makes the notice that is written next to null.
    """

    def __init__(self, code: str, **values: object) -> None:
        super().__init__(code)
        self.code = code
        self.values = values

    def __str__(self) -> str:
        stated = ", ".join(f"{name} {value}" for name, value in self.values.items())
        return f"{self.code} ({stated})" if stated else self.code
