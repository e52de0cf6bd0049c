"""Files that an organiser released: whole or in parts, each under its digest."""

from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, PlainTextResponse, Response

from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.benchmarks.releases import (
    end_release,
    open_releases,
    release_path,
    released_file,
)
from nodulebench.web.portal.benchmarks.releases import release as release_files
from nodulebench.web.portal.benchmarks.rules import Laid, laid_path
from nodulebench.web.portal.benchmarks.save_rules import kind_of
from nodulebench.web.portal.benchmarks.service import find_benchmark, rules_of
from nodulebench.web.portal.guard import AtSite, By, Sent, field
from nodulebench.web.portal.page import see

router = APIRouter(include_in_schema=False)
FROM_THE_BEGINNING = ("", "bytes=0-")
FILE_POLICY = "sandbox; default-src 'none'"
"""Of files of others: nothing in them runs."""


@router.get("/benchmarks/{benchmark_id}/files/SHA256SUMS", name="download_sums")
def download_sums(site: AtSite, by: By, benchmark_id: str) -> Response:
    """The digests of all released files, as ``sha256sum --check`` reads them."""
    with site.database.reading() as session:
        found = open_releases(session, find_benchmark(session, by, benchmark_id).id)
    lines = [f"{one.digest.removeprefix('sha256:')}  {one.file}\n" for one in found if one.digest]
    return PlainTextResponse("".join(lines))


@router.get("/benchmarks/{benchmark_id}/files/{release_id}", name="download")
def download(
    request: Request, site: AtSite, by: By, benchmark_id: str, release_id: str
) -> Response:
    """A released file, or the part of it that is asked for."""
    with site.database.reading() as session:
        find_benchmark(session, by, benchmark_id)
        found = released_file(site, session, benchmark_id, release_id)
    if request.headers.get("range", "") in FROM_THE_BEGINNING:
        with site.acting(by.account, "downloaded", release=found.id, digest=found.digest):
            pass
    path = release_path(site, found)
    return _file(request, path, found.digest, path.name)


@router.get("/benchmarks/{benchmark_id}/terms/{kind}", name="download_terms")
def download_terms(
    request: Request, site: AtSite, by: By, benchmark_id: str, kind: str
) -> Response:
    """The candidates or the folds that a benchmark asks for."""
    laid_kind = kind_of(kind)
    with site.database.reading() as session:
        rules = rules_of(find_benchmark(session, by, benchmark_id))
    laid: Laid | None = getattr(rules, laid_kind)
    if laid is None or laid_kind == "plan":  # a plan holds digests of the reference
        raise DeniedError("not_found", 404)
    path = laid_path(site, benchmark_id, laid_kind, laid.version)
    return _file(request, path, laid.digest, path.name)


@router.post("/benchmarks/{benchmark_id}/releases", name="release")
def release(site: AtSite, by: By, form: Sent, benchmark_id: str) -> Response:
    """Release a file or a folder of the folder of downloads."""
    release_files(site, by, benchmark_id, field(form, "file"), field(form, "kind"))
    return see(f"/benchmarks/{benchmark_id}")


@router.post("/benchmarks/{benchmark_id}/releases/end", name="end_release")
def end(site: AtSite, by: By, form: Sent, benchmark_id: str) -> Response:
    """Give it out no longer."""
    end_release(site, by, benchmark_id, field(form, "file"))
    return see(f"/benchmarks/{benchmark_id}")


def _file(request: Request, path: Path, digest: str, name: str) -> Response:
    """A file under its digest, so that a download that broke off goes on where it was."""
    tag = f'"{digest}"'
    headers = {
        "ETag": tag,
        "Cache-Control": "private, no-cache",
        "Content-Security-Policy": FILE_POLICY,
    }
    if tag in request.headers.get("if-none-match", "").replace(" ", "").split(","):
        return Response(status_code=304, headers=headers)
    kind = "application/octet-stream"
    return FileResponse(path, headers=headers, filename=name, media_type=kind)
