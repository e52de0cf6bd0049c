"""The tables of what is read on the site: exams, annotation projects, and drafts in both."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import ForeignKey, Index, LargeBinary, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from nodulebench.web.portal.database.columns import Base, new_id, now

if TYPE_CHECKING:
    from nodulebench.web.portal.database.models import Account


class SiteExam(Base):
    """An exam on scans of the site; its key lies in the storage."""

    __tablename__ = "exam"
    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    title: Mapped[str]
    images: Mapped[str]
    """The folder of its scans, within that of all scans."""
    rules: Mapped[dict[str, Any]]
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
    of_case: Mapped[str]
    content: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(default=now)
    __table_args__ = (Index(None, "exam_id", "account_id", "id"),)


class ExamResult(Base):
    """The sheet of somebody who handed in everything; there is one for an exam and an account."""

    __tablename__ = "exam_result"
    exam_id: Mapped[str] = mapped_column(ForeignKey("exam.id"), primary_key=True)
    account_id: Mapped[str] = mapped_column(ForeignKey("account.id"), primary_key=True)
    has_passed: Mapped[bool]
    sheet: Mapped[dict[str, Any]]
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
    of_case: Mapped[str]
    content: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(default=now)
    __table_args__ = (Index(None, "project_id", "person", "id"),)
