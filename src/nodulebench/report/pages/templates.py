"""Values -> HTML by the templates of this room: jinja2, which escapes whatever is put in.

jinja2 is loaded when the first page is made, and a template is compiled once for every user.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from markupsafe import Markup

from nodulebench.report.pages.colours import colour_variables

if TYPE_CHECKING:
    from jinja2 import Environment


UNPRINTABLE = re.compile(r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")
"""Characters that neither HTML nor SVG may hold, escaped or not."""
FOLDER = Path(__file__).parent


class Block:
    """A part of a page, shown by a macro; the macro stands in the template of the same name."""

    __slots__ = ()
    macro: ClassVar[str]

    def __html__(self) -> Markup:
        made: Markup = _macro(self.macro)(self)
        return made


def page(template: str, **values: Any) -> str:
    """A whole page."""
    return printable(environment().get_template(template).render(values))


def printable(text: str) -> str:
    """The text with a replacement for each character that no page may hold."""
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def trusted(text: str) -> Markup:
    """Text that is put in as it is: our own style sheets and scripts, never anybody's words."""
    return Markup(text)  # noqa: S704


@cache
def asset(name: str) -> str:
    """A file that pages carry inside: a style sheet or a script."""
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


@cache
def environment() -> "Environment":
    """Where templates are found and how they are filled: every value escaped, none forgotten."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from nodulebench.report.pages.template_cache import bytecode_cache

    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        bytecode_cache=bytecode_cache(),
    )
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return made


@cache
def _macro(name: str) -> Any:
    return getattr(environment().get_template(f"{name}.html").module, name)


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
