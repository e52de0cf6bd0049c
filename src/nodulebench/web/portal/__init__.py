"""The portal: accounts, benchmarks, submissions, leaderboards, annotation projects and exams."""

from nodulebench.core.optional_packages import needs

with needs("portal", "the portal"):
    import alembic  # noqa: F401
    import fastapi  # noqa: F401
    import pwdlib  # noqa: F401
    import python_multipart  # noqa: F401
    import sqlalchemy  # noqa: F401
    import uvicorn  # noqa: F401
