"""Title, facts and sections -> one page in the style of the report, without network or server."""

from collections.abc import Sequence

from markupsafe import escape

from nodulebench.report.blocks.section import Section
from nodulebench.report.html_page.frame import asset, framed


def plain_page(
    *,
    title: str,
    kind: str,
    lead: str,
    facts: Sequence[tuple[str, str]],
    sections: Sequence[Section],
    footer: str,
    version: str,
    style: str = "",
    script: str = "",
) -> str:
    """A page that is no report of an evaluation but looks like one.

    Args:
        title: heading of the page.
        kind: what it is, above the heading.
        lead: the main thing in a sentence.
        facts: names and values below it.
        sections: what follows; each has its place in the contents.
        footer: how it came about.
        version: of NoduleBench.
        style: name of a further style sheet.
        script: name of the script, in place of the report's.
    """
    told = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts
    )
    links = "".join(f'<a href="#{one.name}">{escape(one.title)}</a>' for one in sections)
    body = "\n".join(
        [
            f'<header>\n<p class="kind">{escape(kind)}</p>\n<h1>{escape(title)}</h1>',
            f'<p class="lead">{escape(lead)}</p>\n<dl>{told}</dl>',
            f'<nav aria-label="Contents">{links}</nav>\n</header>\n<main>',
            *(one.__html__() for one in sections),
            f"</main>\n<footer><p>{escape(footer)}</p></footer>",
        ]
    )
    return framed(
        f"{title} – NoduleBench",
        body,
        version=version,
        style=asset(style) if style else "",
        script=asset(script) if script else None,
    )
