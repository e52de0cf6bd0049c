"""Routes of the site, a file for each of its parts; who may use which stands in access/roles."""

from nodulebench.web.portal import api
from nodulebench.web.portal import home_routes as home
from nodulebench.web.portal.accounts import oidc_routes as oidc
from nodulebench.web.portal.accounts import people
from nodulebench.web.portal.accounts import routes as account
from nodulebench.web.portal.admin import log
from nodulebench.web.portal.admin import routes as desk
from nodulebench.web.portal.benchmarks import composition, download
from nodulebench.web.portal.benchmarks import routes as benchmark
from nodulebench.web.portal.exams import routes as exams
from nodulebench.web.portal.leaderboards import routes as certificate
from nodulebench.web.portal.projects import routes as projects
from nodulebench.web.portal.submissions import entry
from nodulebench.web.portal.submissions import routes as submit

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
