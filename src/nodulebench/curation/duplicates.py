"""Fingerprints of series -> which are already there, or in a list of another set."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from nodulebench.core.notices import Notice
from nodulebench.curation.admission.examine import CodedReason
from nodulebench.curation.hash_comparison import HashList
from nodulebench.curation.perceptual_hash import PerceptualHash

_MEANINGS = (
    Notice("duplicate_uid"),
    Notice("duplicate_pixels"),
    Notice("near_duplicate"),
    Notice("listed_uid"),
    Notice("listed_pixels"),
    Notice("listed_near_duplicate"),
)
DUPLICATE_CODES = {meaning.code: meaning for meaning in _MEANINGS}
"""Code -> what it means, in the order in which they decide."""


@dataclass(frozen=True)
class Fingerprint:
    """What tells a scan from others; empty: not known."""

    uid: str = ""
    pixel_sha256: str = ""
    perceptual_hash: PerceptualHash | None = None


@dataclass(frozen=True)
class KnownSet:
    """The scans of a set: one that was given as a list, or the one being made."""

    name: str
    scans: list[Fingerprint] = field(default_factory=list)
    _uids: dict[str, Fingerprint] = field(default_factory=dict)
    _pixels: dict[str, Fingerprint] = field(default_factory=dict)
    _hashed: list[Fingerprint] = field(default_factory=list)
    _hashes: HashList = field(default_factory=HashList)

    def add(self, scan: Fingerprint) -> None:
        """Take a scan in."""
        self.scans.append(scan)
        if scan.uid:
            self._uids.setdefault(scan.uid, scan)
        if scan.pixel_sha256:
            self._pixels.setdefault(scan.pixel_sha256, scan)
        if scan.perceptual_hash is not None:
            self._hashed.append(scan)
            self._hashes.add(scan.perceptual_hash)

    def find(self, scan: Fingerprint, least_similarity: float) -> Iterator[tuple[str, Notice]]:
        """How a scan is known: ``uid``, ``pixels`` or ``near_duplicate``, and what is held."""
        if scan.uid and scan.uid in self._uids:
            yield "uid", Notice("same_series", {"uid": scan.uid})
        if scan.pixel_sha256 and scan.pixel_sha256 in self._pixels:
            same = self._pixels[scan.pixel_sha256]
            yield "pixels", Notice("same_pixels", {"uid": same.uid})
            return  # of the same pixels the hash is the same too
        near = self._nearest(scan)
        if near is not None and near[0] >= least_similarity:
            yield "near_duplicate", Notice("alike_bits", {"share": near[0], "uid": near[1].uid})

    def _nearest(self, scan: Fingerprint) -> tuple[float, Fingerprint] | None:
        if scan.perceptual_hash is None or not self._hashed:
            return None
        alike = self._hashes.similarities(scan.perceptual_hash)
        nearest = int(alike.argmax())
        return float(alike[nearest]), self._hashed[nearest]


def find_duplicates(
    scans: Sequence[Fingerprint],
    known: Sequence[KnownSet],
    least_similarity: float,
    progress: Callable[[int, int], object] = lambda *_: None,
) -> list[tuple[CodedReason, ...]]:
    """For every scan in turn how it is known already; the first of several stays.

    Every scan is compared with all before, so that the time grows with the square of their number.
    """
    kept = KnownSet("this set")
    found = []
    for number, scan in enumerate(scans, start=1):
        reasons = [
            CodedReason(_own_code(how), Notice("held_by_this_set", {"what": told}))
            for how, told in kept.find(scan, least_similarity)
        ]
        reasons += [
            CodedReason(f"listed_{how}", Notice("held_by_list", {"list": other.name, "what": told}))
            for other in known
            for how, told in other.find(scan, least_similarity)
        ]
        if not reasons:
            kept.add(scan)
        found.append(tuple(reasons))
        progress(number, len(scans))
    return found


def _own_code(how: str) -> str:
    return how if how == "near_duplicate" else f"duplicate_{how}"
