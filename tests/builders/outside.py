"""Objects that another package would add to a registry, without that package."""

import sys
from collections.abc import Mapping
from typing import Any

import pytest

from nodulebench.core.registry import Registry


def bring(
    monkeypatch: pytest.MonkeyPatch, registry: Registry[Any], points: Mapping[str, Any]
) -> None:
    """Let a registry find these entry points of other packages, and no others."""
    monkeypatch.setattr(registry, "_outside", dict(points))
    monkeypatch.setattr(registry, "_path", list(sys.path))
