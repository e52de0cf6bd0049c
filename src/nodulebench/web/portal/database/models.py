"""The tables of a site; the same on SQLite and PostgreSQL.

Secrets are stored only as digests: session cookies, links and tokens as SHA-256, passwords as
argon2. Keys of sealed sets are never stored.
"""

from datetime import UTC, datetime
from secrets import token_hex

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from nodulebench.core.json_types import JsonObject

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


class UtcTime(TypeDecorator[datetime]):
    """A time with time zone, stored in UTC without one."""

    impl = DateTime(timezone=False)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return None if value is None else value.replace(tzinfo=UTC)


def now() -> datetime:
    return datetime.now(UTC)


def new_id() -> str:
    return token_hex(8)


class Base(DeclarativeBase):
    """The base of all tables."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {datetime: UtcTime, JsonObject: JSON, list[str]: JSON, str: String}  # noqa: RUF012


class SiteExam(Base):
    """An exam on scans of the site; its key is in the storage folder."""

    __tablename__ = "exam"
    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    title: Mapped[str]
    images: Mapped[str]
    """Name of its scan folder."""
    rules: Mapped[JsonObject]
    """``ExamRules``."""
    made_by: Mapped[str] = mapped_column(ForeignKey("account.id"))
    """The account that knows the key."""
    created_at: Mapped[datetime] = mapped_column(default=now)
    ended_at: Mapped[datetime | None]


class ExamEdit(Base):
    """An edit of a candidate's reading in an exam, or its submission."""

    __tablename__ = "exam_edit"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    exam_id: Mapped[str] = mapped_column(ForeignKey("exam.id"))
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"))
    case_id: Mapped[str]
    content: Mapped[JsonObject]
    created_at: Mapped[datetime] = mapped_column(default=now)
    __table_args__ = (Index(None, "exam_id", "account_id", "id"),)


class ExamResult(Base):
    """The result of a finished exam; one per exam and account."""

    __tablename__ = "exam_result"
    exam_id: Mapped[str] = mapped_column(ForeignKey("exam.id"), primary_key=True)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), primary_key=True)
    has_passed: Mapped[bool]
    sheet: Mapped[JsonObject]
    """As in ``exam.json``, including the missed nodules."""
    created_at: Mapped[datetime] = mapped_column(default=now)
    account: Mapped["Account"] = relationship()


class AnnotationProject(Base):
    """An annotation project whose people are accounts; its roster is in the storage folder."""

    __tablename__ = "project"
    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    title: Mapped[str]
    images: Mapped[str]
    """Name of its scan folder; no page shows its path."""
    created_at: Mapped[datetime] = mapped_column(default=now)


class ProjectExam(Base):
    """The exam that readers of a project must have passed."""

    __tablename__ = "project_exam"
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"), primary_key=True)
    exam_id: Mapped[str] = mapped_column(ForeignKey("exam.id"))


class ProjectMember(Base):
    """Which account is which person of a project."""

    __tablename__ = "project_member"
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"), primary_key=True)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), primary_key=True)
    person: Mapped[str]
    account: Mapped["Account"] = relationship()
    __table_args__ = (UniqueConstraint("project_id", "person"),)


class ProjectEvent(Base):
    """The bytes of an event of a project's log."""

    __tablename__ = "project_event"
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    content: Mapped[bytes] = mapped_column(LargeBinary)


class ProjectHead(Base):
    """The head of a project's log."""

    __tablename__ = "project_head"
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"), primary_key=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)


class ProjectEdit(Base):
    """An edit of a reading in a project, or its submission."""

    __tablename__ = "project_edit"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    person: Mapped[str]
    case_id: Mapped[str]
    content: Mapped[JsonObject]
    created_at: Mapped[datetime] = mapped_column(default=now)
    __table_args__ = (Index(None, "project_id", "person", "id"),)


class Account(Base):
    """A person, or a team that submits under one name."""

    __tablename__ = "account"
    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    login: Mapped[str] = mapped_column(unique=True)
    """The name for signing in, in lower case."""
    name: Mapped[str]
    roles: Mapped[list[str]]
    password: Mapped[str | None]
    """argon2 hash; None: no sign-in by password."""
    totp_secret: Mapped[str | None]
    """Secret of the second factor; None: not set up."""
    totp_step: Mapped[int] = mapped_column(default=0)
    """The last time step whose code was used; each code is valid once."""
    created_at: Mapped[datetime] = mapped_column(default=now)
    closed_at: Mapped[datetime | None]


class Session(Base):
    """A session of an account on one device."""

    __tablename__ = "session"
    digest: Mapped[str] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True, default=new_id)
    """The id that pages use; the digest is not shown."""
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), index=True)
    csrf: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(default=now)
    seen_at: Mapped[datetime] = mapped_column(default=now)
    agent: Mapped[str] = mapped_column(default="")
    account: Mapped[Account] = relationship()


class Invitation(Base):
    """A link that works once: for a new account, or for a new password of an account."""

    __tablename__ = "invitation"
    digest: Mapped[str] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True, default=new_id)
    roles: Mapped[list[str]]
    account_id: Mapped[str | None] = mapped_column(ForeignKey("account.id"))
    """The account whose password it sets; None: it makes an account."""
    made_by: Mapped[str] = mapped_column(default="")
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class Token(Base):
    """A token that authorises requests of programs."""

    __tablename__ = "token"
    digest: Mapped[str] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True, default=new_id)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), index=True)
    name: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(default=now)
    used_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    account: Mapped[Account] = relationship()


class Identity(Base):
    """The user of a provider that an account belongs to: issuer and subject never change."""

    __tablename__ = "identity"
    issuer: Mapped[str] = mapped_column(primary_key=True)
    subject: Mapped[str] = mapped_column(primary_key=True)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


class Attempt(Base):
    """A failed attempt to sign in or to use a link."""

    __tablename__ = "attempt"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    aim: Mapped[str]
    """Digest of the login or address that it counts for."""
    at: Mapped[datetime] = mapped_column(default=now)
    __table_args__ = (Index(None, "aim", "at"),)


class Setting(Base):
    """A setting of the whole site."""

    __tablename__ = "setting"
    name: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[JsonObject]


class Benchmark(Base):
    """A test set with a protocol that people submit to."""

    __tablename__ = "benchmark"
    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    title: Mapped[str]
    about: Mapped[str] = mapped_column(Text, default="")
    reference: Mapped[str]
    """Path of the test set on the machine of the workers; no page shows it."""
    is_sealed: Mapped[bool] = mapped_column(default=False)
    protocol: Mapped[str]
    """Name of a packaged protocol, or a protocol in TOML."""
    rules: Mapped[JsonObject]
    """``BenchmarkRules``."""
    version: Mapped[int] = mapped_column(default=1)
    """Increases when reference or protocol are corrected and all entries are scored again."""
    opens_at: Mapped[datetime | None]
    closes_at: Mapped[datetime | None]
    is_shown: Mapped[bool] = mapped_column(default=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


class Entry(Base):
    """A submission to a benchmark."""

    __tablename__ = "entry"
    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    benchmark_id: Mapped[str] = mapped_column(ForeignKey("benchmark.id"), index=True)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), index=True)
    name: Mapped[str]
    track: Mapped[str] = mapped_column(default="detection")
    kind: Mapped[str] = mapped_column(default="marks")
    """marks or algorithm."""
    file: Mapped[str]
    digest: Mapped[str]
    size: Mapped[int] = mapped_column(BigInteger)
    declared: Mapped[JsonObject]
    """Statements of the submitter: description, training data, link."""
    accepted_rules: Mapped[JsonObject] = mapped_column(default=dict)
    """``AcceptedRules``: the candidate list it scores, and the statement about training."""
    receipt: Mapped[JsonObject]
    is_baseline: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime] = mapped_column(default=now)
    withdrawn_at: Mapped[datetime | None]
    account: Mapped[Account] = relationship()
    benchmark: Mapped[Benchmark] = relationship()


class Job(Base):
    """Work for a worker: to score one entry under one version of its benchmark."""

    __tablename__ = "job"
    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    entry_id: Mapped[str] = mapped_column(ForeignKey("entry.id"))
    version: Mapped[int]
    state: Mapped[str] = mapped_column(default="waiting", index=True)
    """waiting, running, done, failed or cancelled."""
    claim: Mapped[str] = mapped_column(default="")
    """The current claim; a new id with each claim."""
    worker: Mapped[str] = mapped_column(default="")
    lease_until: Mapped[datetime | None]
    attempts: Mapped[int] = mapped_column(default=0)
    progress: Mapped[JsonObject]
    problems: Mapped[JsonObject]
    """Why it failed: ``messages`` for the submitter, ``operator_message`` for organisers."""
    is_cancelling: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime] = mapped_column(default=now)
    ended_at: Mapped[datetime | None]
    entry: Mapped[Entry] = relationship()
    __table_args__ = (UniqueConstraint("entry_id", "version"),)


class Result(Base):
    """The result of a job; one per entry and version. A ``Certificate`` states it."""

    __tablename__ = "result"
    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    entry_id: Mapped[str] = mapped_column(ForeignKey("entry.id"))
    version: Mapped[int]
    folder: Mapped[str]
    """Its result folder, within the results of the site."""
    digest: Mapped[str]
    """Of evaluation.json, or of the feedback of a sealed set."""
    metrics: Mapped[JsonObject]
    """What a leaderboard shows: ``scoring.summary``."""
    created_at: Mapped[datetime] = mapped_column(default=now)
    entry: Mapped[Entry] = relationship()
    __table_args__ = (UniqueConstraint("entry_id", "version"),)


class Certificate(Base):
    """A signed statement of a result; at most one per result."""

    __tablename__ = "certificate"
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    result_id: Mapped[str] = mapped_column(ForeignKey("result.id"), unique=True)
    content: Mapped[JsonObject]
    """The statement, the key of the site, and its signature."""
    created_at: Mapped[datetime] = mapped_column(default=now)


class Release(Base):
    """A file that an organiser released to people who are signed in."""

    __tablename__ = "release"
    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    benchmark_id: Mapped[str] = mapped_column(ForeignKey("benchmark.id"), index=True)
    file: Mapped[str]
    """Its path in the download folder."""
    kind: Mapped[str]
    """scans, nodules or other."""
    size: Mapped[int] = mapped_column(BigInteger)
    changed: Mapped[int] = mapped_column(BigInteger)
    """Modification time in nanoseconds; a file that changed since cannot be downloaded."""
    digest: Mapped[str] = mapped_column(default="")
    """SHA-256; empty: not computed yet, so the file cannot be downloaded."""
    created_at: Mapped[datetime] = mapped_column(default=now)
    ended_at: Mapped[datetime | None]


class Worker(Base):
    """A worker process with its last heartbeat."""

    __tablename__ = "worker"
    name: Mapped[str] = mapped_column(primary_key=True)
    opens_sealed: Mapped[bool] = mapped_column(default=False)
    """Whether it was started with a key for sealed sets."""
    started_at: Mapped[datetime] = mapped_column(default=now)
    seen_at: Mapped[datetime] = mapped_column(default=now)


class Announcement(Base):
    """A message of an organiser to everyone."""

    __tablename__ = "announcement"
    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    benchmark_id: Mapped[str | None] = mapped_column(ForeignKey("benchmark.id"))
    text: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(default=now)
    ended_at: Mapped[datetime | None]


class StoredEvent(Base):
    """The bytes of an event of the log."""

    __tablename__ = "event"
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    content: Mapped[bytes] = mapped_column(LargeBinary)


class StoredHead(Base):
    """The head of the log; one row."""

    __tablename__ = "event_head"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    content: Mapped[bytes] = mapped_column(LargeBinary)
