"""nodulebench receive: receive DICOM series from a PACS, by C-STORE or DICOMweb."""

import signal
import threading
from pathlib import Path

import click

from nodulebench.cli.options import FILE, FOLDER, option, print_next
from nodulebench.cli.terminal import ProgressLine, json_option, print_done, print_json


@click.group("receive")
def command() -> None:
    """Receive DICOM series from a PACS."""


@command.command("listen")
@option("--port", click.IntRange(1, 65535), 11112, "Port to listen on.")
@option("--ae-title", str, "NODULEBENCH", "AE title of this receiver.", to="title")
@click.option("--caller", "callers", multiple=True, help="AE title that may send; may be repeated.")
@option("--host", str, "127.0.0.1", "Address to listen on.")
@click.option("--out", required=True, type=FOLDER, help="Folder for the series.")
def listen(port: int, title: str, callers: tuple[str, ...], host: str, out: Path) -> None:
    r"""Listen for C-STORE until Ctrl-C.

    Every series gets its own folder.

    \b
    nodulebench receive listen --caller HOSPITAL_PACS --host 192.0.2.10 --out incoming/
    """
    from nodulebench.curation.pacs import listening

    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())

    def warn(text: str) -> None:
        click.echo(f"warning: {text}", err=True)

    with listening(out, port=port, title=title, callers=callers, host=host, report=warn) as at:
        who = ", ".join(callers) or "anyone"
        click.echo(f"{title} listens on {host}:{at} for {who}; stop with Ctrl-C")
        stop.wait()
    click.echo(f"{sum(1 for _ in out.glob('*/*.dcm')):,} objects in {out}")
    print_next(f"nodulebench deidentify {out} --out CLEAN --key-table … --key …")


@command.command("fetch")
@click.argument("url")
@click.option("--series-uid", "uids", multiple=True, help="UID of a series; may be repeated.")
@click.option(
    "--filter",
    "filters",
    metavar="NAME=VALUE",
    multiple=True,
    help="DICOM attribute, such as PatientID=17.",
)
@click.option("--list", "is_list", is_flag=True, help="List the CT series, and fetch nothing.")
@click.option("--token-file", type=FILE, help="File with a bearer token.")
@click.option("--out", type=FOLDER, help="Folder for the series.")
@json_option
def fetch(
    url: str,
    uids: tuple[str, ...],
    filters: tuple[str, ...],
    is_list: bool,
    token_file: Path | None,
    out: Path | None,
) -> None:
    r"""Fetch CT series from a DICOMweb server at URL.

    \b
    nodulebench receive fetch https://pacs.example/dicom-web --list
    nodulebench receive fetch https://pacs.example/dicom-web --filter StudyDate=20260101- --out in/
    """
    from nodulebench.curation.pacs import client_of, fetch_series, wanted_series

    if out is None and not is_list:
        raise click.UsageError("give --out, or --list")
    pairs = dict(filter_.partition("=")[::2] for filter_ in filters)
    if not all(pairs.values()):
        raise click.UsageError("a filter is Attribute=value")
    client = client_of(url, token_file)
    wanted = wanted_series(client, url, pairs, uids)
    print_json(wanted)
    for series in wanted:
        objects = f"{series.instances or '?':>5} objects"
        click.echo(f"{series.series_uid}  {objects}  {series.description}")
    if is_list or out is None:
        return
    for series in wanted:
        count = 0
        with ProgressLine() as line:
            for count, _ in enumerate(fetch_series(client, series, out), start=1):
                line.tell(series.series_uid[-20:], count, series.instances or count)
        print_done(f"wrote {out / series.series_uid}: {count} objects")
    if wanted:
        print_next(f"nodulebench deidentify {out} --out CLEAN --key-table … --key …")
