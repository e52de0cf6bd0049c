"""Title and body -> a page that needs no network: one file with its style and script inside."""

import base64
import hashlib
from importlib.resources import files

from markupsafe import escape


def framed(
    title: str,
    body: str,
    *,
    language: str = "en",
    version: str,
    style: str = "",
    script: str | None = None,
) -> str:
    """A whole page around a body; nothing outside the file is ever loaded.

    ``style`` comes after the report's own, ``script`` in place of it.
    """
    script = asset("report.js") if script is None else script
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src 'sha256-{digest}'"
    )
    return "\n".join(
        [
            f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f'<meta name="generator" content="NoduleBench {escape(version)}">',
            '<link rel="icon" href="data:,">',
            f"<title>{escape(title)}</title>\n<style>{asset('report.css')}{style}</style>",
            "</head>\n<body>",
            body,
            f"<script>{script}</script>\n</body>\n</html>\n",
        ]
    )


def asset(name: str) -> str:
    """A file that every page carries inside."""
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")
