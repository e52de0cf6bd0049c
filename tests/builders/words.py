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
    with pytest.raises(UndefinedError) as caught:
        yield
    text = in_english(reason_of(caught.value))
    assert re.search(match, text), f"{match!r} is not in {text!r}"
    assert text != caught.value.code, f"{caught.value.code} has no words"
