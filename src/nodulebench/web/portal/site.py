"""A site: its settings, its database, its storage folder and its key."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy.orm import Session as Transaction

from nodulebench.io.atomic import locked, make_folder
from nodulebench.security.events import Fact
from nodulebench.security.keys import PrivateKey, new_person_key, read_private_key
from nodulebench.web.portal.accounts.credentials import Passwords, Refusals
from nodulebench.web.portal.accounts.oidc import Provider
from nodulebench.web.portal.database.database import Database
from nodulebench.web.portal.database.event_log import record

KEY, DATABASE = "portal.key", "portal.sqlite"
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Settings:
    """Where a portal stores its data, and its limits."""

    storage: Path
    """Folder of uploads, results, the key, and the SQLite database if no other is named."""
    database: str = ""
    """URL of a database; empty: SQLite in the storage folder."""
    address: str = "http://127.0.0.1:8000"
    """URL of the site; with https, cookies are secure."""
    proxy: str = ""
    """Addresses of trusted proxies, whose forwarded client addresses are used; empty: no proxy."""
    test_sets: Path | None = None
    """Folder of the available test sets; None: in the storage folder."""
    scans: Path | None = None
    """Folder of the scan folders for projects; None: in the storage folder."""
    largest_upload: int = 512 * MIB
    account_quota: int = 8192 * MIB
    """Maximum size of all uploads of an account, in bytes."""
    passwords: Passwords = field(default_factory=Passwords)
    provider: Provider | None = None
    """OpenID Connect provider for signing in; None: passwords only."""

    @property
    def is_secure(self) -> bool:
        return self.address.startswith("https://")

    @property
    def sets(self) -> Path:
        return self.test_sets or self.storage / "test-sets"

    @property
    def scan_sets(self) -> Path:
        return self.scans or self.storage / "scans"

    @property
    def database_url(self) -> str:
        return self.database or f"sqlite:///{self.storage.resolve() / DATABASE}"


@dataclass(frozen=True, slots=True)
class Site:
    """An open portal, shared by web pages, workers and commands."""

    settings: Settings
    database: Database
    key: PrivateKey
    """Signs the log and receipts; the public half is stored next to it."""
    refusals: Refusals = field(default_factory=Refusals)

    @classmethod
    def open(cls, settings: Settings, patience_s: float = 0.0) -> "Site":
        """Open a site: create what is missing, upgrade tables; wait this long for the database."""
        storage = settings.storage
        is_new = not storage.exists()
        make_folder(storage)
        if is_new:
            storage.chmod(0o700)  # password hashes and uploads are private
        with locked(storage / ".opening.lock", storage, waits_s=60):
            key = storage / KEY
            if not key.exists():
                new_person_key(key, comment="NoduleBench portal")
            database = Database(settings.database_url)
            database.migrate(patience_s)
        return cls(settings, database, read_private_key(key))

    @contextmanager
    def acting(self, account: str, action: str, **facts: Fact) -> Iterator[Transaction]:
        """A transaction for one action; its event is in the log if and only if it commits."""
        with self.database.writing() as session:
            yield session
            record(session, self.key, account, action, **facts)

    def record(self, session: Transaction, account: str, action: str, **facts: Fact) -> None:
        """Log an action whose facts are known only within its transaction."""
        record(session, self.key, account, action, **facts)

    def refuse(self, account: str, code: str, **facts: Fact) -> None:
        """Log a refusal; repeated refusals are counted and logged at intervals."""
        times = self.refusals.due(account, code)
        if times:
            with self.acting(account, "refused", code=code, times=times, **facts):
                pass

    def upload(self, entry: str) -> Path:
        return self.settings.storage / "uploads" / entry

    def benchmark(self, benchmark: str) -> Path:
        """The folder of what the site stores for a benchmark; never its reference."""
        return self.settings.storage / "benchmarks" / benchmark

    def project(self, project: str) -> Path:
        """The folder of the constant files of an annotation project, and of committed draws."""
        return self.settings.storage / "projects" / project

    def exam(self, exam: str) -> Path:
        """The folder of the key of an exam, and of the hanging layout of each candidate."""
        return self.settings.storage / "exams" / exam

    @property
    def downloads(self) -> Path:
        """The only folder whose files organisers can release."""
        return self.settings.storage / "downloads"

    @property
    def results(self) -> Path:
        return self.settings.storage / "results"
