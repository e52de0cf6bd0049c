"""Certificates: numbered, dated and signed statements of results."""

from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import func, select
from sqlalchemy.orm import Session as Transaction

from nodulebench.core.json_types import JsonObject
from nodulebench.i18n.numbers import decimals
from nodulebench.i18n.translator import Translator
from nodulebench.report.pages.colours import palette
from nodulebench.report.pdf import FONTS, MONOSPACED, typeset
from nodulebench.security.statements import signed_print, signed_statement
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.benchmarks.rules import track_of
from nodulebench.web.portal.database.event_log import SqlStore
from nodulebench.web.portal.database.models import Certificate, Entry, Result, now
from nodulebench.web.portal.leaderboards.leaderboard import readings_of
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.scoring import disclosed_digests
from nodulebench.web.portal.submissions.service import find_entry, find_own, is_nameless, result_of

SCHEMA = "nodulebench/certificate@1"


def certify(site: Site, by: User, entry: str) -> int:
    """Make the certificate of a valid result of one's own entry, or find it; return its number."""
    with site.database.writing() as session:
        SqlStore(session).lock()  # so that two certificates never get the same number
        own = find_own(session, by, entry)
        result = None if own.withdrawn_at else result_of(session, own)
        if result is None:
            raise DeniedError("not_certified", 409)
        known = certificate_of(session, result)
        if known is not None:
            return known.number
        number = (session.scalar(select(func.max(Certificate.number))) or 0) + 1
        at = now()
        statement = _stated(site, own, result, number, at.isoformat(timespec="seconds"))
        content = signed_statement("certificate", statement, site.key)
        session.add(Certificate(number=number, result_id=result.id, content=content, created_at=at))
        facts = {"entry": entry, "number": number, "result": result.digest}
        site.record(session, by.account, "certified", **facts)
    return number


def certificate_of(session: Transaction, result: Result) -> Certificate | None:
    return session.scalar(select(Certificate).where(Certificate.result_id == result.id))


def find_certificate(
    session: Transaction, user: User, number: int
) -> tuple[Certificate, Entry, Result]:
    certificate = session.get(Certificate, number)
    if certificate is None or not certificate.content:
        raise DeniedError("not_found", 404)
    result = session.get_one(Result, certificate.result_id)
    entry = find_entry(session, user, result.entry_id)
    if is_nameless(entry, user):
        raise DeniedError("not_found", 404)
    return certificate, entry, result


def rank_statement(entry: Entry, result: Result) -> str:
    """Whether a certificate is still valid: counts, superseded or withdrawn."""
    if entry.withdrawn_at is not None:
        return "withdrawn"
    return "counts" if result.version == entry.benchmark.version else "superseded"


def print_certificate(site: Site, certificate: Certificate, translate: Translator) -> bytes:
    with TemporaryDirectory(prefix="nodulebench-print-") as name:
        folder = Path(name)
        typeset(folder / "made.pdf", "certificate.typ", _printed(certificate, translate), folder)
        return signed_print((folder / "made.pdf").read_bytes(), site.key)


def facts_of(statement: JsonObject, translate: Translator) -> list[tuple[str, str]]:
    entry, benchmark = statement["entry"], statement["benchmark"]
    version = translate("portal.version", version=benchmark["version"])
    return [
        (translate("portal.algorithm"), entry["algorithm"]),
        (translate("portal.who"), entry["by"]),
        (translate("portal.benchmark"), f"{benchmark['title']} · {version}"),
        (translate("portal.protocol"), benchmark["protocol"]),
        (translate("portal.sent"), _in_utc(entry["sent"])),
        (translate("portal.certificate.scored"), _in_utc(statement["result"]["at"])),
        (translate("portal.certificate.scorer"), f"NoduleBench {statement['result']['scorer']}"),
        *(
            (translate("portal.trained"), translate(f"portal.trained.{text}"))
            for text in _trained(statement)
        ),
        *((translate("portal.verdict"), verdict) for verdict in _verdict(statement, translate)),
    ]


def digests_of(statement: JsonObject, translate: Translator) -> list[tuple[str, str]]:
    return [
        (translate("portal.digest"), statement["entry"]["digest"]),
        (translate("portal.result_digest"), statement["result"]["digest"]),
        *(
            (translate(f"portal.digest_of.{kind}"), digest)
            for kind, digest in statement["digests"].items()
        ),
    ]


def _in_utc(at: str) -> str:
    return at.replace("T", " ").replace("+00:00", " UTC")


def _trained(statement: JsonObject) -> list[str]:
    answer = statement["accepted_rules"].get("training", {}).get("answer")
    return [answer] if answer else []


def _verdict(statement: JsonObject, translate: Translator) -> list[str]:
    if not statement["verdict"]:
        return []
    verdict, reason = (
        translate(f"portal.verdict.{statement['verdict']}"),
        statement.get("verdict_reason"),
    )
    if not reason:
        return [verdict]
    return [translate("portal.verdict_because", verdict=verdict, reason=translate.message(reason))]


def _stated(site: Site, entry: Entry, result: Result, number: int, at: str) -> JsonObject:
    benchmark = entry.benchmark
    return {
        "schema": SCHEMA,
        "number": number,
        "at": at,
        "site": site.settings.address,
        "benchmark": {
            "id": benchmark.id,
            "title": benchmark.title,
            "version": result.version,
            "protocol": benchmark.protocol,
            "is_sealed": benchmark.is_sealed,
        },
        "entry": {
            "id": entry.id,
            "algorithm": entry.name,
            "by": entry.account.name,
            "track": track_of(entry),
            "kind": entry.kind,
            "sent": entry.created_at.isoformat(timespec="seconds"),
            "digest": entry.digest,
            "is_baseline": entry.is_baseline,
        },
        "accepted_rules": entry.accepted_rules,
        "result": {
            "digest": result.digest,
            "at": result.created_at.isoformat(timespec="seconds"),
            "scorer": result.metrics.get("scorer", ""),
        },
        "digests": disclosed_digests(result.metrics),
        "readings": readings_of(result),
        "verdict": result.metrics.get("verdict"),
        "verdict_reason": result.metrics.get("verdict_reason"),
    }


def _printed(certificate: Certificate, translate: Translator) -> JsonObject:
    statement = certificate.content["certificate"]
    rows = [
        [
            translate.word(reading["rule"]),
            _title(reading, translate),
            decimals(reading["value"]),
            _bounds(reading),
        ]
        for reading in statement["readings"]
    ]
    return {
        "title": translate("portal.certificate.heading", number=certificate.number),
        "lead": translate("portal.certificate.lead", site=statement["site"]),
        "date": statement["at"][:10],
        "facts": [
            (translate("portal.certificate.date"), _in_utc(statement["at"])),
            *facts_of(statement, translate),
        ],
        "heads": [
            translate("portal.rule"),
            translate("portal.metric"),
            translate("portal.value"),
            translate("portal.interval"),
        ],
        "rows": rows,
        "digests": digests_of(statement, translate),
        "no_approval": translate("portal.certificate.no_approval"),
        "verify": translate("portal.certificate.verify"),
        "key": certificate.content["key"],
        "code": certificate.content["code"],
        "language": translate.name,
        "fonts": FONTS,
        "mono": MONOSPACED,
        "colours": palette("print"),
    }


def _title(reading: JsonObject, translate: Translator) -> str:
    return translate.metric(
        f"{reading['metric']}/{reading['point']}" if reading["point"] else reading["metric"]
    ).title


def _bounds(reading: JsonObject) -> str:
    if reading["low"] is None or reading["high"] is None:
        return ""
    return f"{decimals(reading['low'])}–{decimals(reading['high'])}"
