"""Content of a report -> report.html: one file that needs no network and no server."""

from dataclasses import replace

import polars as pl
from markupsafe import escape

from nodulebench.language import LanguageName
from nodulebench.report.content import NOTHING, Audience, Beside, Content, report_content
from nodulebench.report.html_page.frame import framed
from nodulebench.report.reading_document import Document

__all__ = ["Audience", "render_html"]


def render_html(
    document: Document,
    curves: pl.DataFrame,
    flips: pl.DataFrame | None = None,
    *,
    audience: Audience = "lab",
    language: LanguageName = "en",
    beside: Beside = NOTHING,
) -> str:
    """The report as one page.

    Args:
        document: what evaluation.json holds.
        curves: the table in curves.parquet: algorithm, rule, curve, x, y, threshold.
        flips: the table in flips.parquet, where there is more than one rule.
        audience: ``developer`` leaves out whatever reveals the reference standard: single cases,
            nodules and marks, the digests of the test set, and curves in full detail.
        language: the language of every word that is not the algorithms' or the data's own.
        beside: what else lies beside the evaluation.
    """
    if flips is not None:
        beside = replace(beside, flips=flips)
    return page(report_content(document, curves, beside, audience=audience, language_name=language))


def page(content: Content) -> str:
    """The content as a page."""
    title = f"{content.title} – {content.protocol} – NoduleBench"
    body = "\n".join(
        [
            _header(content),
            "<main>",
            _verdict(content),
            _notices(content),
            _key(content),
            *(one.__html__() for one in content.sections),
            "</main>",
            _footer(content),
        ]
    )
    return framed(title, body, language=content.say.code, version=content.version)


def _header(content: Content) -> str:
    say = content.say
    kind = say("page.kind" if content.audience == "lab" else "page.kind_developer")
    facts = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(fact)}</dd></div>" for name, fact in content.facts
    )
    first = [("verdict", say("section.verdict"))] if content.verdict is not None else []
    first.append(("key", say("section.key")))
    links = "".join(
        f'<a href="#{name}">{escape(title)}</a>'
        for name, title in [*first, *((one.name, one.title) for one in content.sections)]
    )
    return (
        f'<header>\n<p class="kind">{escape(kind)}</p>\n<h1>{escape(content.title)}</h1>\n'
        f'<p class="lead">{escape(content.lead)}</p>\n<dl>{facts}</dl>\n'
        f'<nav aria-label="{escape(say("page.contents"))}">{links}</nav>\n</header>'
    )


def _verdict(content: Content) -> str:
    if content.verdict is None:
        return ""
    title = escape(content.say("section.verdict"))
    return f'<section><h2 id="verdict">{title}</h2>\n{escape(content.verdict)}</section>'


def _notices(content: Content) -> str:
    if not content.notices:
        return ""
    told = "".join(
        f"<li><b>{escape(about)}{content.say('colon')}</b> {escape(text)}</li>"
        for about, text in content.notices
    )
    title = escape(content.say("page.read_first"))
    return f'<section class="notices"><h2>{title}</h2>\n<ul>{told}</ul></section>'


def _key(content: Content) -> str:
    large = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)} <span>{escape(bounds)}</span></dd>"
        f'<dd class="meaning">{escape(meaning)}</dd></div>'
        for name, value, bounds, meaning in content.headline
    )
    shown = f'<dl class="headline">{large}</dl>' if large else escape(content.key_table)
    told = "\n".join(f"<p>{escape(text)}</p>" for text in content.paragraphs)
    title = escape(content.say("section.key"))
    return (
        f'<section><h2 id="key">{title}</h2>\n{shown}\n<div class="told">{told}</div>\n</section>'
    )


def _footer(content: Content) -> str:
    say = content.say
    identity = say("page.identity", version=content.version, digest=content.digests["protocol"])
    return f"<footer><p>{escape(say('page.footer'))}</p>\n<p>{escape(identity)}</p></footer>"
