"""The tables of the site; the same on SQLite and PostgreSQL.

Secrets stand here as digests only: of session cookies, links and tokens, SHA-256; of passwords,
argon2. Keys that open a sealed set are never here.
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
    """A time with its zone, kept in UTC by databases that have zones and those that have none."""

    impl = DateTime(timezone=False)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """The time as the database keeps it."""
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """The time with its zone."""
        return None if value is None else value.replace(tzinfo=UTC)


def now() -> datetime:
    """This moment, in UTC."""
    return datetime.now(UTC)


def new_id() -> str:
    """An id that nobody guesses."""
    return token_hex(8)


class Base(DeclarativeBase):
    """What every table has in common."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {datetime: UtcTime, JsonObject: JSON, list[str]: JSON, str: String}  # noqa: RUF012


class SiteExam(Base):
    """An exam on scans of the site; its key lies in the storage."""

    __tablename__ = "exam"
    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    title: Mapped[str]
    images: Mapped[str]
    """The folder of its scans, within that of all scans."""
    rules: Mapped[JsonObject]
    """``ExamRules``."""
    made_by: Mapped[str] = mapped_column(ForeignKey("account.id"))
    """Who knows the key."""
    created_at: Mapped[datetime] = mapped_column(default=now)
    ended_at: Mapped[datetime | None]


class ExamEdit(Base):
    """One edit of what somebody draws in an exam, or that it was handed in."""

    __tablename__ = "exam_edit"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    exam_id: Mapped[str] = mapped_column(ForeignKey("exam.id"))
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"))
    case_id: Mapped[str]
    content: Mapped[JsonObject]
    created_at: Mapped[datetime] = mapped_column(default=now)
    __table_args__ = (Index(None, "exam_id", "account_id", "id"),)


class ExamResult(Base):
    """The sheet of somebody who handed in everything; there is one for an exam and an account."""

    __tablename__ = "exam_result"
    exam_id: Mapped[str] = mapped_column(ForeignKey("exam.id"), primary_key=True)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), primary_key=True)
    has_passed: Mapped[bool]
    sheet: Mapped[JsonObject]
    """As it stands in ``exam.json``, with every nodule that was missed."""
    created_at: Mapped[datetime] = mapped_column(default=now)
    account: Mapped["Account"] = relationship()


class AnnotationProject(Base):
    """An annotation project whose people are accounts; its roster and cases lie in the storage."""

    __tablename__ = "project"
    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    title: Mapped[str]
    images: Mapped[str]
    """The folder of its scans, within that of all scans; no page shows where that is."""
    created_at: Mapped[datetime] = mapped_column(default=now)


class ProjectExam(Base):
    """Which exam of the site the readers of a project have passed."""

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
    """The bytes of one event of a project's log."""

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
    """One edit of what somebody draws and says in a project, or that it was handed in."""

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
    """What is typed to sign in; small letters."""
    name: Mapped[str]
    """What others see."""
    roles: Mapped[list[str]]
    password: Mapped[str | None]
    """argon2; None: nobody can sign in."""
    totp_secret: Mapped[str | None]
    """The secret of the second factor; None: there is none."""
    totp_step: Mapped[int] = mapped_column(default=0)
    """The last step of the second factor that was used, which counts only once."""
    created_at: Mapped[datetime] = mapped_column(default=now)
    closed_at: Mapped[datetime | None]


class Session(Base):
    """Somebody who is signed in, on one device."""

    __tablename__ = "session"
    digest: Mapped[str] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True, default=new_id)
    """What pages call it by; the digest stays here."""
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), index=True)
    csrf: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(default=now)
    seen_at: Mapped[datetime] = mapped_column(default=now)
    agent: Mapped[str] = mapped_column(default="")
    account: Mapped[Account] = relationship()


class Invitation(Base):
    """A link that works once: for a new account, or for a new password of an old one."""

    __tablename__ = "invitation"
    digest: Mapped[str] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True, default=new_id)
    roles: Mapped[list[str]]
    account_id: Mapped[str | None] = mapped_column(ForeignKey("account.id"))
    """Whose password it sets; None: it makes an account."""
    made_by: Mapped[str] = mapped_column(default="")
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class Token(Base):
    """What a program signs its requests with."""

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
    """Who of a provider an account is: by issuer and subject, which never change."""

    __tablename__ = "identity"
    issuer: Mapped[str] = mapped_column(primary_key=True)
    subject: Mapped[str] = mapped_column(primary_key=True)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


class Attempt(Base):
    """A failed attempt to sign in or to use a link, counted by what it was aimed at."""

    __tablename__ = "attempt"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    aim: Mapped[str]
    """Digest of a login or of an address."""
    at: Mapped[datetime] = mapped_column(default=now)
    __table_args__ = (Index(None, "aim", "at"),)


class Setting(Base):
    """What an organiser chose for the whole site."""

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
    """Where the test set lies on the machine of the workers; no page shows it."""
    is_sealed: Mapped[bool] = mapped_column(default=False)
    protocol: Mapped[str]
    """Name of a published protocol, or the text of one in TOML."""
    rules: Mapped[JsonObject]
    """``BenchmarkRules``: tracks, quota, feedback, what is released."""
    version: Mapped[int] = mapped_column(default=1)
    """One more each time the reference or protocol is corrected, so that all is scored anew."""
    opens_at: Mapped[datetime | None]
    closes_at: Mapped[datetime | None]
    is_shown: Mapped[bool] = mapped_column(default=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


class Entry(Base):
    """One submission to a benchmark."""

    __tablename__ = "entry"
    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    benchmark_id: Mapped[str] = mapped_column(ForeignKey("benchmark.id"), index=True)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), index=True)
    name: Mapped[str]
    """What the algorithm is called."""
    track: Mapped[str] = mapped_column(default="detection")
    kind: Mapped[str] = mapped_column(default="marks")
    """marks, or an algorithm that is run."""
    file: Mapped[str]
    """The name that it was sent under."""
    digest: Mapped[str]
    size: Mapped[int] = mapped_column(BigInteger)
    declared: Mapped[JsonObject]
    """What who submits says of it: description, training data, intended use."""
    accepted_rules: Mapped[JsonObject] = mapped_column(default=dict)
    """``entries.Terms``: the candidate list it scores, and what was checked of its training."""
    receipt: Mapped[JsonObject]
    is_baseline: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime] = mapped_column(default=now)
    withdrawn_at: Mapped[datetime | None]
    account: Mapped[Account] = relationship()
    benchmark: Mapped[Benchmark] = relationship()


class Job(Base):
    """Work for a worker: one entry under one version of its benchmark."""

    __tablename__ = "job"
    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    entry_id: Mapped[str] = mapped_column(ForeignKey("entry.id"))
    version: Mapped[int]
    state: Mapped[str] = mapped_column(default="waiting", index=True)
    """waiting, running, done, failed, cancelled."""
    claim: Mapped[str] = mapped_column(default="")
    """Whose it is now; another one with each claim."""
    worker: Mapped[str] = mapped_column(default="")
    lease_until: Mapped[datetime | None]
    attempts: Mapped[int] = mapped_column(default=0)
    progress: Mapped[JsonObject]
    problems: Mapped[JsonObject]
    """Why it failed: ``told`` for who submitted, ``kept`` for who organises."""
    is_cancelling: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime] = mapped_column(default=now)
    ended_at: Mapped[datetime | None]
    entry: Mapped[Entry] = relationship()
    __table_args__ = (UniqueConstraint("entry_id", "version"),)


class Result(Base):
    """What a job found; one for an entry and a version, never two. A ``Certificate`` states it."""

    __tablename__ = "result"
    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    entry_id: Mapped[str] = mapped_column(ForeignKey("entry.id"))
    version: Mapped[int]
    folder: Mapped[str]
    """Its result folder, within the storage of the site."""
    digest: Mapped[str]
    """Of evaluation.json, or of the feedback of a sealed set."""
    metrics: Mapped[JsonObject]
    """What a leaderboard shows: ``scoring.Summary``."""
    created_at: Mapped[datetime] = mapped_column(default=now)
    entry: Mapped[Entry] = relationship()
    __table_args__ = (UniqueConstraint("entry_id", "version"),)


class Certificate(Base):
    """A signed statement of what was found for an entry; there is one for a result."""

    __tablename__ = "certificate"
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    result_id: Mapped[str] = mapped_column(ForeignKey("result.id"), unique=True)
    content: Mapped[JsonObject]
    """The statement, the key of the site, and its signature."""
    created_at: Mapped[datetime] = mapped_column(default=now)


class Release(Base):
    """A file that an organiser released to those who are signed in."""

    __tablename__ = "release"
    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    benchmark_id: Mapped[str] = mapped_column(ForeignKey("benchmark.id"), index=True)
    file: Mapped[str]
    """Its place in the folder of downloads; no other file can be reached."""
    kind: Mapped[str]
    """scans, nodules or other."""
    size: Mapped[int] = mapped_column(BigInteger)
    changed: Mapped[int] = mapped_column(BigInteger)
    """When the file was changed last, in nanoseconds; one that changed since is not given out."""
    digest: Mapped[str] = mapped_column(default="")
    """SHA-256; nothing: a worker has not got to it, and the file is not given out yet."""
    created_at: Mapped[datetime] = mapped_column(default=now)
    ended_at: Mapped[datetime | None]


class Worker(Base):
    """A worker process that said not long ago that it lives."""

    __tablename__ = "worker"
    name: Mapped[str] = mapped_column(primary_key=True)
    opens_sealed: Mapped[bool] = mapped_column(default=False)
    """Whether it was started with a key for sealed sets."""
    started_at: Mapped[datetime] = mapped_column(default=now)
    seen_at: Mapped[datetime] = mapped_column(default=now)


class Announcement(Base):
    """What an organiser tells everybody."""

    __tablename__ = "announcement"
    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    benchmark_id: Mapped[str | None] = mapped_column(ForeignKey("benchmark.id"))
    text: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(default=now)
    ended_at: Mapped[datetime | None]


class StoredEvent(Base):
    """The bytes of one event of the log."""

    __tablename__ = "event"
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    content: Mapped[bytes] = mapped_column(LargeBinary)


class StoredHead(Base):
    """The head of the log; one row."""

    __tablename__ = "event_head"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    content: Mapped[bytes] = mapped_column(LargeBinary)
