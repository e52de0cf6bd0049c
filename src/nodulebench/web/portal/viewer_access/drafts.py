"""Drafts of somebody as rows: the same rules as in a folder, for any web process."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session as Transaction

from nodulebench.core.config_model import checked
from nodulebench.core.json_types import JsonObject
from nodulebench.web.portal.viewer_access.gateway import Steps
from nodulebench.web.viewer.drafts import (
    ConflictError,
    Draft,
    Edit,
    SavedDraft,
    applied,
    require_editable,
)


class SqlDrafts:
    """What somebody drew and said in a project or an exam and has not handed in, or has.

    What was read of it once is kept; rows of other processes are read with the next look. Rows of
    a person are written one transaction after another, so that none appears before an older one.
    """

    def __init__(self, steps: Steps, table: type[Any], **own: str) -> None:
        """Open somebody's drafts.

        Args:
            steps: looks and steps in the project or the exam.
            table: ``ProjectEdit`` or ``ExamEdit``.
            own: what their rows have in common.
        """
        self._steps = steps
        self._table = table
        self._own = own
        self._drafts: dict[str, Draft] = {}
        self._last = 0
        self._lock = Lock()

    def every(self) -> Mapping[str, Draft]:
        """All drafts by what they are of."""
        with self._steps.looking() as session:
            return self._read(session)

    def of(self, case_id: str) -> Draft:
        """The draft of a case; an empty one where nothing was done yet."""
        return self.every().get(case_id) or Draft()

    def edit(self, case_id: str, edit: Edit) -> SavedDraft | None:
        """Make an edit, unless it was made before, and tell how its finding stands then.

        Raises:
            ConflictError: if the finding was changed meanwhile, or the draft was handed in.
        """
        with self._steps.acting() as session:
            draft = self._read(session).get(case_id) or Draft()
            kept = draft.findings.get(edit.finding_id or "")
            if require_editable(draft, edit):
                return kept
            self._add(session, case_id, {"edit": edit.model_dump(mode="json")})
        return applied(edit) if edit.finding_id else None

    def submit(self, case_id: str) -> None:
        """Freeze a draft."""
        with self.submitting(case_id):
            pass

    @contextmanager
    def submitting(self, case_id: str) -> Iterator[Draft]:
        """Freeze a draft in the transaction of what the block does with it.

        Raises:
            ConflictError: if it was handed in before.
        """
        with self._steps.acting() as session:
            draft = self._read(session).get(case_id) or Draft()
            if draft.is_submitted:
                raise ConflictError("submitted")
            yield draft
            self._add(session, case_id, {"submitted": True})

    def _add(self, session: Transaction, case_id: str, told: JsonObject) -> None:
        session.add(self._table(**self._own, of_case=case_id, content=told))
        session.flush()

    def _read(self, session: Transaction) -> dict[str, Draft]:
        """What stands, with the rows that came since it was read last."""
        with self._lock:
            table = self._table
            rows = select(table).filter_by(**self._own).where(table.id > self._last)
            for row in session.scalars(rows.order_by(table.id)):
                draft = self._drafts.setdefault(row.of_case, Draft())
                if "edit" in row.content:
                    draft.make(checked(Edit, row.content["edit"], f"edit {row.id}"))
                else:
                    draft.is_submitted = True
                self._last = row.id
            return dict(self._drafts)
