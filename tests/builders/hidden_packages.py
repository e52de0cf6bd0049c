"""Act as if a package were not installed."""

import sys

import pytest


def hide_package(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let every import of a package, or of a part of it, fail until the test ends."""
    for module in [name, *(module for module in sys.modules if module.startswith(f"{name}."))]:
        monkeypatch.setitem(sys.modules, module, None)
