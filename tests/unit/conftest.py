"""The messages of readers of files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nodulebench.core.errors import InputError


@pytest.fixture
def messages_of() -> Callable[..., list[str]]:
    """The problems that a reader finds in a file, without its folder's name."""

    def find(read: Callable[..., object], path: Path, *more: object) -> list[str]:
        with pytest.raises(InputError) as caught:
            read(path, *more)
        return [str(problem).replace(f"{path.parent}/", "") for problem in caught.value.problems]

    return find
