"""Under what an entry was taken: the candidates it scores, what was checked of its training."""

from typing import Any

from nodulebench.core.config_model import Written
from nodulebench.web.portal.benchmarks.folds import Training
from nodulebench.web.portal.benchmarks.rules import Laid
from nodulebench.web.portal.database.models import Entry


class Terms(Written):
    """Under what an entry was taken; it stays so, whatever is laid down later."""

    candidates: Laid | None = None
    training: Training = Training()

    @property
    def said(self) -> dict[str, Any]:
        """What is not empty, as rows and receipts hold it."""
        return self.model_dump(mode="json", exclude_defaults=True)


def terms_of(entry: Entry) -> Terms:
    """Under what an entry was taken."""
    return Terms.model_validate(entry.terms)


def track_of(entry: Entry) -> str:
    """What an entry is ranked among: its track, and of candidate lists the very version."""
    listed = terms_of(entry).candidates
    return entry.track if listed is None else f"{entry.track}-{listed.version}"
