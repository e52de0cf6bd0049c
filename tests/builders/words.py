"""Notices and reasons in English, so that tests can say what a reader sees."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import reason_of
from nodulebench.i18n.translator import in_english


def sentences(notices: Iterable[Any]) -> tuple[str, ...]:
    """Notices as sentences."""
    return tuple(map(in_english, notices))


@contextmanager
def undefined(match: str) -> Iterator[None]:
    """Expect that a metric is undefined for a reason whose words hold the pattern."""
    with pytest.raises(UndefinedError) as found:
        yield
    said = in_english(reason_of(found.value))
    assert re.search(match, said), f"{match!r} is not in {said!r}"
    assert said != found.value.code, f"{found.value.code} has no words"
