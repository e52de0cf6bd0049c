"""The log of a project as rows, and steps that are one transaction: log, draft and site together.

The state machine is that of ``annotate``; here is only where its events lie. Each of them is told
in the log of the site by its digest, which the site signs.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy.orm import Session as Transaction

from nodulebench.annotation.project import INDEX, ProjectHandle, open_project
from nodulebench.annotation.workflow.log import annotation_log
from nodulebench.io.manifests import bytes_digest
from nodulebench.security.event_log.store import Stored
from nodulebench.web.portal.database.event_log import SqlStore
from nodulebench.web.portal.database.models import ProjectEvent, ProjectHead
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.viewer_access.gateway import StepTransactions


class ProjectStore(SqlStore):
    """The events of one project within a transaction; each is an action of the site, too."""

    def __init__(self, session: Transaction, site: Site, project_id: str, account: str) -> None:
        of_project = {"project_id": project_id}
        super().__init__(session, ProjectEvent, ProjectHead, of_project, of_project)
        self._site, self._project_id, self._account = site, project_id, account

    def append(self, number: int, content: bytes) -> bool:
        """Keep one more event, and write down in the log of the site which."""
        super().append(number, content)
        event = Stored(self.where(number), number, content)
        record_step(self._site, self._session, self._account, self._project_id, event)
        return True

    def where(self, number: int | None = None) -> str:
        """How messages name an event, or the head."""
        return f"project {self._project_id} {super().where(number)}"


def record_step(
    site: Site, session: Transaction, account: str, project_id: str, event: Stored
) -> None:
    """Write down in the log of the site which event a project's log has got."""
    digest = bytes_digest(event.content)
    facts = {"project": project_id, "digest": digest}
    site.record(session, account, "project_step", **facts, number=event.number)


def project_folder(site: Site, project_id: str) -> Path:
    """Where the roster, the rules and the cases of a project lie, which never change."""
    return site.project(project_id) / "project"


@dataclass(frozen=True)
class ProjectAccess(StepTransactions):
    """A project for one account: looks at it, and steps in it."""

    account: str
    base: ProjectHandle
    """The project with nothing in its log."""

    @property
    def project_id(self) -> str:
        """The id of the project."""
        return self.of

    @contextmanager
    def handle(self, *, acts: bool = False) -> Iterator[ProjectHandle]:
        """The project for a look or a step."""
        with self.acting() if acts else self.reading() as session:
            yield self.on(session)

    def on(self, session: Transaction) -> ProjectHandle:
        """The project as a transaction sees it."""
        store = ProjectStore(session, self.site, self.project_id, self.account)
        index = self.base.folder / INDEX
        return replace(self.base, log=annotation_log(store, self.base.log.log.root, None, index))


def project_access(site: Site, project_id: str, account: str) -> ProjectAccess:
    """A project for an account.

    Raises:
        InputError: if its files are damaged.
    """
    return ProjectAccess(site, project_id, account, open_project(project_folder(site, project_id)))
