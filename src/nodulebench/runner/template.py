"""Write a folder with a small working algorithm as a template for developers."""

import stat
import tomllib
from importlib.resources import files
from pathlib import Path

from nodulebench.core.errors import InputError
from nodulebench.io.atomic import staged_folder
from nodulebench.io.marks.submission_folder import MANIFEST

_FILES: dict[str, dict[str, str]] = tomllib.loads(
    files(__package__).joinpath("template.toml").read_text("utf-8")
)
TEMPLATES = {name: (_FILES[name]["name"], _FILES[name]["text"]) for name in ("python", "shell")}
"""Language -> the program's file and text."""


def new_algorithm(folder: Path, language: str) -> list[Path]:
    """Write a working algorithm into an empty folder; return its files."""
    if not folder.resolve().name.isprintable() or '"' in folder.resolve().name:
        raise InputError.at(str(folder), "cannot be the name of an algorithm.", "Choose another.")
    program, text = TEMPLATES[language]
    with staged_folder(folder, is_new=True) as stage:
        manifest = _FILES["manifest"]["text"].format(name=folder.resolve().name, program=program)
        (stage / MANIFEST).write_text(manifest, encoding="utf-8")
        script = stage / program
        script.write_text(text, encoding="utf-8")
        executable = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
        script.chmod(script.stat().st_mode | executable)
    return [folder / MANIFEST, folder / program]
