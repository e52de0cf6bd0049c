"""Drafts as rows, with the same rules as drafts in a folder, for several web processes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session as Transaction

from nodulebench.core.config_model import checked
from nodulebench.core.json_types import JsonObject
from nodulebench.web.portal.viewer_access.gateway import StepTransactions
from nodulebench.web.viewer.drafts import (
    ConflictError,
    Draft,
    Edit,
    SavedDraft,
    require_editable,
    state_after,
)


class SqlDrafts:
    """The drafts of a person in a project or an exam.

    Rows are cached after reading; rows of other processes are read with the next call. The rows of
    a person are written one transaction after another, so that none appears before an older one.
    """

    def __init__(self, transactions: StepTransactions, table: type[Any], **own: str) -> None:
        """Open a person's drafts in the table of a project or an exam; ``own`` selects them."""
        self._transactions = transactions
        self._table = table
        self._own = own
        self._drafts: dict[str, Draft] = {}
        self._last = 0
        self._lock = Lock()

    def every(self) -> Mapping[str, Draft]:
        with self._transactions.reading() as session:
            return self._read(session)

    def of(self, case_id: str) -> Draft:
        return self.every().get(case_id) or Draft()

    def edit(self, case_id: str, edit: Edit) -> SavedDraft | None:
        with self._transactions.acting() as session:
            draft = self._read(session).get(case_id) or Draft()
            stored = draft.findings.get(edit.finding_id or "")
            if require_editable(draft, edit):
                return stored
            self._add(session, case_id, {"edit": edit.model_dump(mode="json")})
        return state_after(edit) if edit.finding_id else None

    def submit(self, case_id: str) -> None:
        with self.submitting(case_id):
            pass

    @contextmanager
    def submitting(self, case_id: str) -> Iterator[Draft]:
        """Freeze a draft in the same transaction as the actions of the block."""
        with self._transactions.acting() as session:
            draft = self._read(session).get(case_id) or Draft()
            if draft.is_submitted:
                raise ConflictError("submitted")
            yield draft
            self._add(session, case_id, {"submitted": True})

    def _add(self, session: Transaction, case_id: str, content: JsonObject) -> None:
        session.add(self._table(**self._own, case_id=case_id, content=content))
        session.flush()

    def _read(self, session: Transaction) -> dict[str, Draft]:
        with self._lock:
            table = self._table
            rows = select(table).filter_by(**self._own).where(table.id > self._last)
            for row in session.scalars(rows.order_by(table.id)):
                draft = self._drafts.setdefault(row.case_id, Draft())
                if "edit" in row.content:
                    draft.make(checked(Edit, row.content["edit"], f"edit {row.id}"))
                else:
                    draft.is_submitted = True
                self._last = row.id
            return dict(self._drafts)
