"""Compile the message catalogues when the package is built or installed."""

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):
    """The hook that ``pyproject.toml`` names."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Run before files are collected."""
        path = Path(self.root) / "src" / "nodulebench" / "i18n" / "compile_catalogues.py"
        runpy.run_path(str(path))["compile_catalogues"]()
