"""Every page as Markdown next to its HTML, and llms.txt: a list of them for language models."""

import re
from pathlib import Path
from typing import Any

FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n+", re.DOTALL)
SUMMARY = (
    "NoduleBench evaluates software that finds lung nodules in CT scans: scores with confidence "
    "intervals, comparisons, test laboratories, readers and benchmarks."
)


def write_twins(app: Any, exception: Exception | None) -> None:
    """Write PAGE.md next to each PAGE.html, and llms.txt, when the HTML is complete."""
    if exception is not None or app.builder.name != "html":
        return
    env, folder = app.env, Path(app.outdir)
    for page in env.found_docs:
        text = Path(env.doc2path(page)).read_text(encoding="utf-8")
        path = folder / f"{page}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FRONT_MATTER.sub("", text), encoding="utf-8")
    lines = ["# NoduleBench", "", f"> {SUMMARY}"]
    for section in env.toctree_includes["index"]:
        lines += ["", f"## {title(env, section)}", "", *entries(env, section, set())]
    (folder / "llms.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")


def entries(env: Any, page: str, seen: set[str]) -> list[str]:
    """A line for a page, and for each page below it."""
    if page in seen:
        return []
    seen.add(page)
    below = env.toctree_includes.get(page, [])
    lines = [line for child in below for line in entries(env, child, seen)]
    return [f"- [{title(env, page)}]({page}.md)", *lines]


def title(env: Any, page: str) -> str:
    """The title of a page."""
    return str(env.titles[page].astext())
