"""Routes of the site, a file for each of its parts; who may use which stands in access/roles."""

from nodulebench.portal.routes import (
    account,
    api,
    benchmark,
    certificate,
    composition,
    desk,
    download,
    entry,
    exams,
    home,
    log,
    oidc,
    people,
    projects,
    submit,
)

ROUTERS = tuple(
    one.router
    for one in (
        home,
        account,
        oidc,
        benchmark,
        download,
        entry,
        certificate,
        submit,
        desk,
        composition,
        people,
        projects,
        exams,
        log,
        api,
    )
)
"""Every router of the site."""
