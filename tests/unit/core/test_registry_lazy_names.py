"""Packages export their entry points, and import nothing for it."""

import subprocess
import sys
from importlib import import_module

import pytest

PACKAGES = (
    *("annotation", "curation", "custody", "detection", "evaluation", "io", "phantom"),
    *("reference", "report", "runner"),
)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_exported_name_is_defined_in_its_module(package: str) -> None:
    module = import_module(f"nodulebench.{package}")
    for name, home in module._MODULES.items():
        assert getattr(module, name) is getattr(import_module(f".{home}", module.__name__), name)
        assert name in dir(module)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'nodulebench.io' has no attribute 'nothing'"):
        _ = import_module("nodulebench.io").nothing


def test_packages_are_imported_without_their_modules() -> None:
    program = (
        f"import sys\nfor package in {PACKAGES!r}: __import__('nodulebench.' + package)\n"
        "print(sorted({'numpy', 'polars', 'pydantic', 'scipy', 'jinja2'} & {*sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
