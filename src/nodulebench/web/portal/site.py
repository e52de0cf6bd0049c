"""Site: settings -> the database, the storage folder and the key of one portal, opened."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy.orm import Session as Transaction

from nodulebench.io.atomic import locked, make_folder
from nodulebench.security.event_log.events import Fact
from nodulebench.security.keys import PrivateKey, new_person_key, read_private_key
from nodulebench.web.portal.accounts.credentials import Passwords, Refusals
from nodulebench.web.portal.accounts.oidc import Provider
from nodulebench.web.portal.database.database import Database
from nodulebench.web.portal.database.event_log import record

KEY, DATABASE = "portal.key", "portal.sqlite"
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Settings:
    """Where a portal keeps what, and how much it takes."""

    storage: Path
    """Folder of uploads, results, the key, and the database where none is named."""
    database: str = ""
    """Address of a database; nothing: SQLite in the storage."""
    address: str = "http://127.0.0.1:8000"
    """How people reach the site; https makes cookies secure."""
    proxy: str = ""
    """Addresses of proxies, which are believed when they say who asks; nothing: nobody is."""
    test_sets: Path | None = None
    """Folder of the test sets that benchmarks can be made of; None: that of the storage."""
    scans: Path | None = None
    """Folder of the folders of scans that are read in projects; None: that of the storage."""
    largest_upload: int = 512 * MIB
    account_quota: int = 8192 * MIB
    """How much of one account is kept, of all its entries together."""
    passwords: Passwords = field(default_factory=Passwords)
    provider: Provider | None = None
    """By whom people may sign in, too; None: by passwords alone."""

    @property
    def is_secure(self) -> bool:
        """Whether people come by https."""
        return self.address.startswith("https://")

    @property
    def sets(self) -> Path:
        """Where test sets lie."""
        return self.test_sets or self.storage / "test-sets"

    @property
    def scan_sets(self) -> Path:
        """Where folders of scans lie."""
        return self.scans or self.storage / "scans"

    @property
    def database_url(self) -> str:
        """The address of the database."""
        return self.database or f"sqlite:///{self.storage.resolve() / DATABASE}"


@dataclass(frozen=True, slots=True)
class Site:
    """An open portal: what web pages, workers and commands share."""

    settings: Settings
    database: Database
    key: PrivateKey
    """Signs the log and receipts; its public half stands beside it."""
    refusals: Refusals = field(default_factory=Refusals)

    @classmethod
    def open(cls, settings: Settings, patience_s: float = 0.0) -> "Site":
        """Make what is missing, bring the tables to the newest form, and open all.

        Args:
            settings: how the site is set up.
            patience_s: how long a database that is away is waited for.

        Raises:
            InputError: if the database cannot be used.
        """
        storage = settings.storage
        is_new = not storage.exists()
        make_folder(storage)
        if is_new:
            storage.chmod(0o700)  # hashes of passwords and what people sent are nobody else's
        with locked(storage / ".opening.lock", storage, waits_s=60):
            key = storage / KEY
            if not key.exists():
                new_person_key(key, comment="NoduleBench portal")
            database = Database(settings.database_url)
            database.migrate(patience_s)
        return cls(settings, database, read_private_key(key))

    @contextmanager
    def acting(self, account: str, action: str, **facts: Fact) -> Iterator[Transaction]:
        """A transaction that does one thing, which stands in the log if and only if it happens."""
        with self.database.writing() as session:
            yield session
            record(session, self.key, account, action, **facts)

    def record(self, session: Transaction, account: str, action: str, **facts: Fact) -> None:
        """Write down an action whose facts are known only in its transaction."""
        record(session, self.key, account, action, **facts)

    def refuse(self, account: str, code: str, **facts: Fact) -> None:
        """Write down that something was refused; of what is refused again and again, how often."""
        times = self.refusals.due(account, code)
        if times:
            with self.acting(account, "refused", code=code, times=times, **facts):
                pass

    def upload(self, entry: str) -> Path:
        """The folder of what was sent for an entry."""
        return self.settings.storage / "uploads" / entry

    def benchmark(self, benchmark: str) -> Path:
        """The folder of what the site itself keeps of a benchmark: never its reference."""
        return self.settings.storage / "benchmarks" / benchmark

    def project(self, project: str) -> Path:
        """The folder of what never changes of an annotation project, and of promised draws."""
        return self.settings.storage / "projects" / project

    def exam(self, exam: str) -> Path:
        """The folder of the key of an exam, and of how each who sits it hangs scans."""
        return self.settings.storage / "exams" / exam

    @property
    def downloads(self) -> Path:
        """The folder whose files organisers can release; no other can be reached."""
        return self.settings.storage / "downloads"

    @property
    def results(self) -> Path:
        """The folder of result folders."""
        return self.settings.storage / "results"
