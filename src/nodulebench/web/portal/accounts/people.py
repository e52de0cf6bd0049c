"""People of the site: invitations, links for lost passwords, roles, closed accounts."""

from fastapi import APIRouter, Request
from sqlalchemy import select
from starlette.responses import Response

from nodulebench.web.portal.accounts import service as accounts
from nodulebench.web.portal.accounts.roles import GIVEN
from nodulebench.web.portal.accounts.routes import is_registration_open
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import Visitor
from nodulebench.web.portal.database.models import Account, Invitation, Setting, now
from nodulebench.web.portal.guard import AtSite, By, Sent, field
from nodulebench.web.portal.page import rendered, see
from nodulebench.web.portal.site import Site

router = APIRouter(include_in_schema=False)


@router.get("/people", name="people")
def people(request: Request, site: AtSite, by: By) -> Response:
    """Everybody who has an account, and links that can still be used."""
    return _people_page(request, site, by)


@router.post("/people/invite", name="invite")
def invite(request: Request, site: AtSite, by: By, form: Sent) -> Response:
    """A link for a new account, shown once."""
    roles = tuple(role for role in GIVEN if role in form.getlist("roles"))
    if not roles:
        raise DeniedError("roles_missing")
    secret = accounts.make_link(site, roles, by.account)
    return _people_page(request, site, by, link=f"{site.settings.address}/link/{secret}")


@router.post("/people/links/{link_id}/end", name="end_link")
def end_link(site: AtSite, by: By, link_id: str) -> Response:
    """End a link before it was used."""
    with site.acting(by.account, "link_ended", link=link_id) as session:
        found = session.scalar(select(Invitation).where(Invitation.id == link_id))
        if found is None:
            raise DeniedError("not_found", 404)
        found.expires_at = now()
    return see("/people")


@router.post("/people/{account_id}/reset", name="reset_link")
def reset_link(request: Request, site: AtSite, by: By, account_id: str) -> Response:
    """A link for somebody who lost their password, shown once."""
    secret = accounts.make_link(site, (), by.account, account_id)
    return _people_page(request, site, by, link=f"{site.settings.address}/link/{secret}")


@router.post("/people/{account_id}/roles", name="change_roles")
def change_roles(site: AtSite, by: By, form: Sent, account_id: str) -> Response:
    """Give somebody other roles."""
    roles = tuple(str(one) for one in form.getlist("roles"))
    accounts.change_roles(site, account_id, roles, by.account)
    return see("/people")


@router.post("/people/{account_id}/close", name="close_account")
def close_account(site: AtSite, by: By, account_id: str) -> Response:
    """End somebody's account."""
    with site.database.reading() as session:
        if session.get(Account, account_id) is None:
            raise DeniedError("not_found", 404)
    accounts.close_account(site, account_id, by.account)
    return see("/people")


@router.post("/people/registration", name="open_registration")
def open_registration(site: AtSite, by: By, form: Sent) -> Response:
    """Let people make accounts of their own, or no longer."""
    is_open = field(form, "open") == "yes"
    with site.acting(by.account, "registration", open=is_open) as session:
        session.merge(Setting(name="registration", value={"is_open": is_open}))
    return see("/people")


def _people_page(request: Request, site: Site, by: Visitor, link: str = "") -> Response:
    with site.database.reading() as session:
        everybody = session.scalars(select(Account).order_by(Account.created_at))
        unused = select(Invitation).where(
            Invitation.used_at.is_(None), Invitation.expires_at > now()
        )
        values = {
            "accounts": list(everybody),
            "links": list(session.scalars(unused.order_by(Invitation.created_at))),
        }
    is_open = is_registration_open(site)
    return rendered(
        request, "people.html", link=link, roles=GIVEN, own=by.account, is_open=is_open, **values
    )
