"""The log of a project as rows; log, draft and site log change in one transaction.

The state machine is that of ``annotate``; only the storage of its events is defined here. The site
log contains the digest of each event, signed by the site.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy.orm import Session as Transaction

from nodulebench.annotation.project import INDEX, ProjectHandle, open_project
from nodulebench.annotation.project_log import annotation_log
from nodulebench.io.manifests import bytes_digest
from nodulebench.security.event_log import Stored
from nodulebench.web.portal.database.event_log import SqlStore
from nodulebench.web.portal.database.models import ProjectEvent, ProjectHead
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.viewer_access.gateway import StepTransactions


class ProjectStore(SqlStore):
    """The events of a project within a transaction; each is also logged by the site."""

    def __init__(self, session: Transaction, site: Site, project_id: str, account: str) -> None:
        of_project = {"project_id": project_id}
        super().__init__(session, ProjectEvent, ProjectHead, of_project, of_project)
        self._site, self._project_id, self._account = site, project_id, account

    def append(self, number: int, content: bytes) -> bool:
        super().append(number, content)
        event = Stored(self.where(number), number, content)
        record_step(self._site, self._session, self._account, self._project_id, event)
        return True

    def where(self, number: int | None = None) -> str:
        return f"project {self._project_id} {super().where(number)}"


def record_step(
    site: Site, session: Transaction, account: str, project_id: str, event: Stored
) -> None:
    digest = bytes_digest(event.content)
    facts = {"project": project_id, "digest": digest}
    site.record(session, account, "project_step", **facts, number=event.number)


def project_folder(site: Site, project_id: str) -> Path:
    return site.project(project_id) / "project"


@dataclass(frozen=True)
class ProjectAccess(StepTransactions):
    """Access of an account to a project."""

    account: str
    base: ProjectHandle
    """The project with an empty log."""

    @property
    def project_id(self) -> str:
        return self.of

    @contextmanager
    def handle(self, *, acts: bool = False) -> Iterator[ProjectHandle]:
        with self.acting() if acts else self.reading() as session:
            yield self.on(session)

    def on(self, session: Transaction) -> ProjectHandle:
        store = ProjectStore(session, self.site, self.project_id, self.account)
        index = self.base.folder / INDEX
        return replace(self.base, log=annotation_log(store, self.base.log.log.root, None, index))


def project_access(site: Site, project_id: str, account: str) -> ProjectAccess:
    return ProjectAccess(site, project_id, account, open_project(project_folder(site, project_id)))
