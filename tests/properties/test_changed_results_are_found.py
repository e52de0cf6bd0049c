"""Whatever is changed in a folder of results, verify finds it and names it."""

import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.evaluated_folder import write_small_evaluation
from nodulebench.evaluation.verify import verify_folder
from nodulebench.io.manifests import write_manifest

Place = tuple[str | int, ...]
SETTINGS = [("margin",), ("bootstraps",), ("permutations",)]
"""Of a comparison: what it is recomputed with."""


@pytest.fixture(scope="module", autouse=True)
def remove_folder() -> Iterator[None]:
    yield
    if small_evaluation.cache_info().currsize:
        shutil.rmtree(small_evaluation())


@cache
def small_evaluation() -> Path:
    folder = Path(mkdtemp()) / "out"
    write_small_evaluation(folder, bootstraps=3)
    return folder


@cache
def numbers() -> dict[Place, float]:
    """Every number of evaluation.json by its place."""
    document = json.loads((small_evaluation() / "evaluation.json").read_text(encoding="utf-8"))
    return dict(numbers_of(document))


def numbers_of(value: Any, place: Place = ()) -> Iterator[tuple[Place, float]]:
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in pairs:
            yield from numbers_of(item, (*place, key))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield place, value


@st.composite
def changes(draw: st.DrawFn) -> tuple[Place, float]:
    """A place, and another number for it."""
    place = draw(st.sampled_from(sorted(numbers(), key=str)))
    old = numbers()[place]
    by = draw(st.sampled_from([1, -1, 1e-6, -1e-6, 1000]))
    return place, old + int(by) if isinstance(old, int) and int(by) else old + by


@settings(max_examples=10, deadline=None)
@given(changes())
def test_any_changed_number_is_found_and_its_place_named(change: tuple[Place, float]) -> None:
    folder, (place, number) = small_evaluation(), change
    path = folder / "evaluation.json"
    whole = path.read_bytes()
    document = json.loads(whole)
    above = document
    for key in place[:-1]:
        above = above[key]
    above[place[-1]] = number
    try:
        path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
        write_manifest(folder)  # so that only the number itself can give it away
        verification = verify_folder(folder)
    finally:
        path.write_bytes(whole)
        write_manifest(folder)
    message = [str(line) for line in (*verification.problems, *verification.differences)]
    names = [str(place[-1])]
    if place[0] == "comparisons" and place[2:] in SETTINGS:
        names.append("comparisons[0]")  # other settings give other numbers
    else:
        assert len(message) == 1, message
    if place[0] == "protocol":  # another protocol, or a value that no protocol can have
        names = ["digests.protocol", "evaluation.json protocol field", "field 'protocol."]
    assert any(name in message[0].partition(": written")[0] for name in names), message


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_any_changed_byte_of_any_file_is_found_and_the_file_named(data: st.DataObject) -> None:
    folder = small_evaluation()
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = data.draw(st.sampled_from(files))
    whole = path.read_bytes()
    changed = bytearray(whole)
    changed[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        path.write_bytes(changed)
        verification = verify_folder(folder)
    finally:
        path.write_bytes(whole)
    assert any(path.name in str(problem) for problem in verification.problems)


def test_the_untouched_folder_is_good() -> None:
    assert len(numbers()) > 200
    assert verify_folder(small_evaluation()).is_good
