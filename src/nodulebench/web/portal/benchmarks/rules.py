"""A file that was laid down for a benchmark: its version and its digest, which results repeat."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from nodulebench.core.config_model import Written
from nodulebench.web.portal.site import Site

Kind = Literal["candidates", "folds", "plan"]
FILES: dict[Kind, str] = {
    "candidates": "candidates-{version}.csv",
    "folds": "folds-{version}.csv",
    "plan": "plan-{version}.json",
}
"""What can be laid down, and the name that each version of it has."""


class Laid(Written):
    """One version of a file; older versions stay, for the entries that were made under them."""

    version: Annotated[int, Field(ge=1)]
    digest: str
    count: int
    """Candidates, folds, or criteria in it."""


def laid_path(site: Site, benchmark: str, kind: Kind, version: int) -> Path:
    """Where a version of a file lies."""
    return site.benchmark(benchmark) / "terms" / FILES[kind].format(version=version)
