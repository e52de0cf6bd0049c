"""What a page says -> the page: one file with its style and script inside, without network."""

import base64
import hashlib
from collections.abc import Sequence
from typing import Any

from nodulebench.report.pages.colours import colour_variables
from nodulebench.report.pages.templates import asset, page, trusted


def framed(
    *,
    title: str,
    kind: str,
    lead: str,
    facts: Sequence[tuple[str, str]],
    sections: Sequence[Any],
    footer: Sequence[str],
    version: str,
    about: str = "",
    language: str = "en",
    contents: str = "Contents",
    find: str = "Find",
    style: str = "",
    script: str = "report.js",
    template: str = "page.html",
    **more: Any,
) -> str:
    """A whole page; nothing outside the file is ever loaded.

    Args:
        title: heading of the page.
        kind: what it is, above the heading.
        lead: the main thing in a sentence.
        facts: names and values below it.
        sections: what follows; each has its place in the contents.
        footer: how it came about, a paragraph each.
        version: of NoduleBench.
        about: what stands after the heading in the title of the window.
        language: as a web page states it.
        contents: what the list of sections is called.
        find: what stands where a table is searched.
        style: name of a style sheet that comes after those of every page.
        script: name of the only script that may run.
        template: one that extends ``page.html``.
        more: what that template needs besides.
    """
    code = asset(script)
    styles = ("pictures.css", "blocks.css", "page.css", *([style] if style else []))
    return page(
        template,
        title=f"{title} – {about}" if about else title,
        heading=title,
        kind=kind,
        lead=lead,
        facts=facts,
        sections=sections,
        footer=footer,
        version=version,
        language=language,
        contents=contents,
        find=find,
        style=trusted(colour_variables() + "".join(map(asset, styles))),
        script=trusted(code),
        script_digest=base64.b64encode(hashlib.sha256(code.encode()).digest()).decode(),
        **more,
    )
