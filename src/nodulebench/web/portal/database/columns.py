"""What every table of the site is made of: names of its keys, times in UTC, ids."""

from datetime import UTC, datetime
from secrets import token_hex
from typing import Any

from sqlalchemy import JSON, DateTime, MetaData, String, TypeDecorator
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase

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
    type_annotation_map = {datetime: UtcTime, dict[str, Any]: JSON, list[str]: JSON, str: String}  # noqa: RUF012
