"""Fingerprints of series -> which are duplicates, or in a list of another set."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from nodulebench.core.errors import InputError, Problems, raise_problems
from nodulebench.core.notices import Notice
from nodulebench.curation.examine import CodedReason
from nodulebench.curation.perceptual_hash import HashList, PerceptualHash
from nodulebench.io.csv_files import CsvFile, write_csv

_MEANINGS = (
    Notice("duplicate_uid"),
    Notice("duplicate_pixels"),
    Notice("near_duplicate"),
    Notice("listed_uid"),
    Notice("listed_pixels"),
    Notice("listed_near_duplicate"),
)
DUPLICATE_CODES = {meaning.code: meaning for meaning in _MEANINGS}
"""Code -> its meaning, in the order in which codes decide."""


@dataclass(frozen=True)
class Fingerprint:
    """What distinguishes a scan from others; empty: not known."""

    uid: str = ""
    pixel_sha256: str = ""
    perceptual_hash: PerceptualHash | None = None


@dataclass(frozen=True)
class KnownSet:
    """The scans of a set: of a given list, or of the set that is being made."""

    name: str
    scans: list[Fingerprint] = field(default_factory=list)
    _uids: dict[str, Fingerprint] = field(default_factory=dict)
    _pixels: dict[str, Fingerprint] = field(default_factory=dict)
    _hashed: list[Fingerprint] = field(default_factory=list)
    _hashes: HashList = field(default_factory=HashList)

    def add(self, scan: Fingerprint) -> None:
        self.scans.append(scan)
        if scan.uid:
            self._uids.setdefault(scan.uid, scan)
        if scan.pixel_sha256:
            self._pixels.setdefault(scan.pixel_sha256, scan)
        if scan.perceptual_hash is not None:
            self._hashed.append(scan)
            self._hashes.add(scan.perceptual_hash)

    def find(self, scan: Fingerprint, least_similarity: float) -> Iterator[tuple[str, Notice]]:
        """How a scan matches: ``uid``, ``pixels`` or ``near_duplicate``, and the match."""
        if scan.uid and scan.uid in self._uids:
            yield "uid", Notice("same_series", {"uid": scan.uid})
        if scan.pixel_sha256 and scan.pixel_sha256 in self._pixels:
            same = self._pixels[scan.pixel_sha256]
            yield "pixels", Notice("same_pixels", {"uid": same.uid})
            return  # of the same pixels the hash is the same too
        if scan.perceptual_hash is None or not self._hashed:
            return
        alike = self._hashes.similarities(scan.perceptual_hash)
        nearest = int(alike.argmax())
        if (share := float(alike[nearest])) >= least_similarity:
            values = {"share": share, "uid": self._hashed[nearest].uid}
            yield "near_duplicate", Notice("alike_bits", values)


def find_duplicates(
    scans: Sequence[Fingerprint],
    known: Sequence[KnownSet],
    least_similarity: float,
    progress: Callable[[int, int], object] = lambda *_: None,
) -> list[tuple[CodedReason, ...]]:
    """For every scan the reasons why it is a duplicate; the first of several equal scans stays.

    Every scan is compared with all before, so the time grows with the square of their number.
    """
    this_set = KnownSet("this set")
    reasons_of_scans = []
    for number, scan in enumerate(scans, start=1):
        reasons = [
            CodedReason(
                how if how == "near_duplicate" else f"duplicate_{how}",
                Notice("held_by_this_set", {"what": match}),
            )
            for how, match in this_set.find(scan, least_similarity)
        ]
        reasons += [
            CodedReason(
                f"listed_{how}", Notice("held_by_list", {"list": other.name, "what": match})
            )
            for other in known
            for how, match in other.find(scan, least_similarity)
        ]
        if not reasons:
            this_set.add(scan)
        reasons_of_scans.append(tuple(reasons))
        progress(number, len(scans))
    return reasons_of_scans


UID_COLUMNS = ("series_uid", "seriesuid", "SeriesInstanceUID")
PIXEL_COLUMNS = ("pixel_sha256", "hu_sha256")
HASH_COLUMN = "perceptual_hash"


def read_known_set(path: Path) -> KnownSet:
    file = CsvFile(path)
    header = file.header()
    columns = [name for name in (*UID_COLUMNS, *PIXEL_COLUMNS, HASH_COLUMN) if name in header]
    if not columns:
        return _plain_list(path, header)
    table = file.read_columns(text=(columns[0],), optional_text=tuple(columns[1:]))
    known, problems = KnownSet(path.stem), Problems()
    for row in table.iter_rows(named=True):
        text = row.get(HASH_COLUMN)
        try:
            hashed = PerceptualHash.from_text(text) if text else None
        except ValueError as error:
            problems.add(f"{path.name} line {row['line']}", f"holds {error}.")
            continue
        known.add(Fingerprint(_first(row, UID_COLUMNS), _first(row, PIXEL_COLUMNS), hashed))
    raise_problems(problems)
    return known


def write_known_set(rows: Iterable[tuple[str, str, str]], path: Path) -> None:
    """Write series UID, pixel digest and perceptual hash of scans as a list for other sets."""
    names = {UID_COLUMNS[0]: pl.String, PIXEL_COLUMNS[0]: pl.String, HASH_COLUMN: pl.String}
    write_csv(pl.DataFrame(list(rows), schema=names, orient="row"), path)


def _plain_list(path: Path, header: list[str]) -> KnownSet:
    lines = path.read_text(encoding="utf-8").split() if len(header) == 1 else []
    if not lines or not all(set(line) <= set("0123456789.") for line in lines):
        wanted = ", ".join((*UID_COLUMNS, *PIXEL_COLUMNS, HASH_COLUMN))
        names = ", ".join(header[:12])
        raise InputError.at(path, f"names no series; it has {names}.", f"Known columns: {wanted}.")
    known = KnownSet(path.stem)
    for uid in lines:
        known.add(Fingerprint(uid))
    return known


def _first(row: dict[str, str | None], names: tuple[str, ...]) -> str:
    return next((value for name in names if (value := row.get(name))), "")
