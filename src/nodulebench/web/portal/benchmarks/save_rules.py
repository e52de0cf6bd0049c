"""Save uploaded rule files as new versions of the rules of a benchmark."""

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from nodulebench.core.errors import InputError
from nodulebench.io.atomic import create_once, make_folder
from nodulebench.io.manifests import file_digest
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.benchmarks.rules import (
    FILES,
    Kind,
    RuleFile,
    rule_file_path,
    write_candidates,
    write_folds,
    write_frozen,
)
from nodulebench.web.portal.benchmarks.service import known_cases, rules_of
from nodulebench.web.portal.database.models import Benchmark
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.checks import for_page
from nodulebench.web.portal.submissions.service import file_name

if TYPE_CHECKING:
    from nodulebench.security.events import Fact


def kind_of(name: str) -> Kind:
    kind = next((known for known in FILES if known == name), None)
    if kind is None:
        raise DeniedError("not_found", 404)
    return kind


def save_rules(
    site: Site, by: User, benchmark: str, kind: Kind, name: str, content: BinaryIO
) -> RuleFile:
    """Save a file as the next version of a rule file; accepted entries keep the older version."""
    stored = _benchmark(site, benchmark)
    with tempfile.TemporaryDirectory(dir=site.settings.storage) as place:
        source, target = Path(place) / file_name(name), Path(place) / "checked"
        with source.open("xb") as file:
            shutil.copyfileobj(content, file)
        try:
            count = _written(site, stored, kind, source, target)
        except InputError as error:
            raise InputError(for_page(error.problems, place)) from error
        digest = file_digest(target)
        rule_file = RuleFile(version=_newest(site, benchmark, kind) + 1, digest=digest, count=count)
        path = rule_file_path(site, benchmark, kind, rule_file.version)
        make_folder(path.parent)
        if not create_once(path, target.read_bytes()):
            raise DeniedError("form_old", 409)  # another request saved this version first
    _set(site, by, benchmark, kind, rule_file)
    return rule_file


def remove_rules(site: Site, by: User, benchmark: str, kind: Kind) -> None:
    """Remove a rule; entries that were accepted under it keep it."""
    _benchmark(site, benchmark)
    _set(site, by, benchmark, kind, None)


def _benchmark(site: Site, benchmark: str) -> Benchmark:
    with site.database.reading() as session:
        stored = session.get(Benchmark, benchmark)
    if stored is None:
        raise DeniedError("not_found", 404)
    return stored


def _written(site: Site, benchmark: Benchmark, kind: Kind, source: Path, target: Path) -> int:
    if kind == "plan":
        reference, protocol = Path(benchmark.reference), benchmark.protocol
        return write_frozen(source, reference, protocol, target, is_sealed=benchmark.is_sealed)
    cases = _open_cases(site, benchmark)
    write = write_candidates if kind == "candidates" else write_folds
    return write(source, cases, target)


def _open_cases(site: Site, benchmark: Benchmark) -> pl.DataFrame:
    cases = known_cases(site, benchmark)
    if cases is None:  # a list would disclose the cases
        raise DeniedError("sealed_tells_no_cases", 409)
    return cases


def _newest(site: Site, benchmark: str, kind: Kind) -> int:
    version = 0
    while rule_file_path(site, benchmark, kind, version + 1).exists():
        version += 1
    return version


def _set(site: Site, by: User, benchmark: str, kind: Kind, rule_file: RuleFile | None) -> None:
    facts: dict[str, Fact] = {"benchmark": benchmark, "kind": kind}
    if rule_file is not None:
        facts |= {"version": rule_file.version, "digest": rule_file.digest}
    action = "terms_ended" if rule_file is None else "rules_saved"
    with site.database.writing() as session:
        stored = session.get_one(Benchmark, benchmark, with_for_update=True)
        changed = rules_of(stored).model_copy(update={kind: rule_file})
        stored.rules = changed.model_dump(mode="json")
        site.record(session, by.account, action, **facts)
