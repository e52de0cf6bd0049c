"""Compile the message catalogues (.po to .mo). The build and the tests run it."""

import os
from pathlib import Path

LOCALES = Path(__file__).parent / "locales"


def compile_catalogues(locales: Path = LOCALES) -> list[Path]:
    """Compile each catalogue that is newer than its compiled form; return what was written."""
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    written = []
    for source in sorted(locales.rglob("*.po")):
        compiled = source.with_suffix(".mo")
        if compiled.exists() and compiled.stat().st_mtime_ns >= source.stat().st_mtime_ns:
            continue
        with source.open("rb") as file:
            catalogue = read_po(file, abort_invalid=True)
        unfinished = compiled.with_suffix(f".{os.getpid()}.new")
        with unfinished.open("wb") as file:
            write_mo(file, catalogue)
        unfinished.replace(compiled)
        written.append(compiled)
    return written


if __name__ == "__main__":
    compile_catalogues()
