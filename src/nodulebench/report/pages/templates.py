"""Values -> HTML by the jinja2 templates of this folder; every value is escaped.

jinja2 is loaded when the first page is made, and a template is compiled once for every user.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from markupsafe import Markup

from nodulebench.report.pages.colours import colour_variables

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.bccache import Bucket


UNPRINTABLE = re.compile(r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")
"""Characters that neither HTML nor SVG may hold, escaped or not."""
FOLDER = Path(__file__).parent


class Block:
    """A part of a page, rendered by a macro of ``blocks.html``."""

    __slots__ = ()
    macro: ClassVar[str]

    def __html__(self) -> Markup:
        macros = environment().get_template("blocks.html").module
        return Markup(getattr(macros, self.macro)(self))  # noqa: S704 - escaped by the macro


def page(template: str, **values: object) -> str:
    return printable(environment().get_template(template).render(values))


def printable(text: str) -> str:
    """The text with a replacement for each character that no page may hold."""
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


@cache
def asset(name: str) -> str:
    """A style sheet or a script that pages contain."""
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


@cache
def environment() -> "Environment":
    """The templates and their settings: every value is escaped, a missing value is an error."""
    from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined

    class BytecodeCache(FileSystemBytecodeCache):
        """Caches what it can; without a writable folder templates are compiled in every run."""

        def load_bytecode(self, bucket: "Bucket") -> None:
            with suppress(OSError):
                super().load_bytecode(bucket)

        def dump_bytecode(self, bucket: "Bucket") -> None:
            with suppress(OSError):
                super().dump_bytecode(bucket)

    compiled = None
    with suppress(OSError, RuntimeError):  # no folder belongs safely to this user only
        compiled = BytecodeCache()
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        bytecode_cache=compiled,
    )
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return made


@dataclass(frozen=True, kw_only=True, slots=True)
class PageFrame:
    """The heading, contents and footer of a page that is one file."""

    title: str
    """Heading of the page."""
    kind: str
    """The kind of page, above the heading."""
    lead: str
    """The main result in a sentence."""
    facts: Sequence[tuple[str, str]]
    """Names and values below the lead."""
    sections: Sequence[Block]
    """The body."""
    footer: Sequence[str]
    """How the page was made, a paragraph each."""
    version: str
    """Version of NoduleBench."""
    links: Sequence[tuple[str, str]] = ()
    """The contents: anchors and titles; empty: those of the sections."""
    about: str = ""
    """Added to the heading in the title of the window."""
    language: str = "en"
    """The language as HTML states it."""
    contents: str = "Contents"
    """Accessible name of the list of sections."""
    find: str = "Find"
    """Placeholder of the search field of a table."""
    style: str = ""
    """Name of a style sheet that is added to those of every page."""
    script: str = "report.js"
    """Name of the only script that may run."""


def framed_page(frame: PageFrame) -> str:
    """A whole page; nothing outside the file is ever loaded."""
    code = asset(frame.script)
    sheets = ("charts.css", "blocks.css", "page.css", *([frame.style] if frame.style else []))
    return page(
        "page.html",
        title=f"{frame.title} – {frame.about}" if frame.about else frame.title,
        heading=frame.title,
        kind=frame.kind,
        lead=frame.lead,
        facts=frame.facts,
        sections=frame.sections,
        links=frame.links,
        footer=frame.footer,
        version=frame.version,
        language=frame.language,
        contents=frame.contents,
        find=frame.find,
        style=Markup(colour_variables() + "".join(map(asset, sheets))),  # noqa: S704 - our own
        script=Markup(code),  # noqa: S704 - our own
        script_digest=base64.b64encode(hashlib.sha256(code.encode()).digest()).decode(),
    )
