import numpy as np
import polars as pl
import pytest

from nodulebench.core.errors import InputError
from nodulebench.curation.duplicates import (
    Fingerprint,
    KnownSet,
    find_duplicates,
    read_known_set,
    write_known_set,
)
from nodulebench.curation.perceptual_hash import BITS, PerceptualHash
from nodulebench.i18n.translator import in_english


def hashed(seed, flipped=0.0):
    bits = np.random.default_rng(seed).integers(0, 2, (40, BITS), np.uint8)
    bits[:, : int(flipped * BITS)] ^= 1
    return PerceptualHash(bits)


def reasons_of(scans, known=()):
    return [
        [(reason.code, in_english(reason.notice)) for reason in reasons]
        for reasons in find_duplicates(scans, known, least_similarity=0.84)
    ]


def test_scans_that_differ_are_not_duplicates():
    assert reasons_of([Fingerprint("1", "a", hashed(1)), Fingerprint("2", "b", hashed(2))]) == [
        [],
        [],
    ]


def test_the_first_of_several_stays():
    same = Fingerprint("1", "a", hashed(1))
    assert reasons_of([same, same, same]) == [
        [],
        *[
            [
                ("duplicate_uid", "this set already contains the series 1"),
                ("duplicate_pixels", "this set already contains the same pixels as the series 1"),
            ]
        ]
        * 2,
    ]


def test_near_duplicates_are_reported_with_their_similarity():
    scans = [Fingerprint("1", "a", hashed(1)), Fingerprint("2", "b", hashed(1, flipped=0.1))]
    assert reasons_of(scans)[1] == [
        ("near_duplicate", "this set already contains 90.0% of the bits of the series 1")
    ]
    assert reasons_of([scans[0], Fingerprint("2", "b", hashed(1, flipped=0.2))])[1] == []


def test_a_duplicate_is_not_compared_with_later_ones():
    """The second is left out, so the third is only compared with the first."""
    chain = [Fingerprint(str(at), str(at), hashed(1, flipped=0.1 * at)) for at in range(3)]
    assert [bool(reasons) for reasons in reasons_of(chain)] == [False, True, False]


def test_what_is_not_known_is_not_compared():
    assert reasons_of([Fingerprint(), Fingerprint()]) == [[], []]


def test_scans_of_other_sets_are_reported_by_list(tmp_path):
    path = tmp_path / "other.csv"
    write_known_set([("1", "a", ""), ("2", "", hashed(5).to_text())], path)
    known = read_known_set(path)
    scans = [
        Fingerprint("1"),
        Fingerprint("8", "a"),
        Fingerprint("9", "c", hashed(5, flipped=0.05)),
    ]
    assert reasons_of(scans, [known]) == [
        [("listed_uid", "the list other contains the series 1")],
        [("listed_pixels", "the list other contains the same pixels as the series 1")],
        [("listed_near_duplicate", "the list other contains 95.0% of the bits of the series 2")],
    ]


@pytest.mark.parametrize("name", ["series_uid", "seriesuid", "SeriesInstanceUID"])
def test_lists_name_the_uid_in_their_own_way(tmp_path, name):
    path = tmp_path / "list.csv"
    pl.DataFrame({"patient": ["p"], name: ["1.2"], "hu_sha256": ["f0"]}).write_csv(path)
    assert read_known_set(path).scans == [Fingerprint("1.2", "f0")]


def test_a_plain_list_has_a_uid_per_line(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("1.2.3\n1.2.4\n")
    assert [scan.uid for scan in read_known_set(path).scans] == ["1.2.3", "1.2.4"]


def test_a_list_that_names_no_series_is_refused(tmp_path):
    path = tmp_path / "list.csv"
    path.write_text("name,age\na,3\n")
    with pytest.raises(InputError, match=r"names no series; it has name, age. Known columns: ser"):
        read_known_set(path)


def test_damaged_hashes_are_reported_by_line(tmp_path):
    path = tmp_path / "list.csv"
    path.write_text("series_uid,perceptual_hash\n1.2,1:3:AAAA\n1.3,\n1.4,nothing\n")
    with pytest.raises(InputError) as caught:
        read_known_set(path)
    assert [problem.where for problem in caught.value.problems] == [
        "list.csv line 2",
        "list.csv line 4",
    ]


def test_a_known_set_finds_nothing_when_empty():
    assert list(KnownSet("none").find(Fingerprint("1", "a", hashed(1)), 0.84)) == []


def test_comparing_many_scans_tells_how_far_it_is():
    calls = []
    find_duplicates(
        [Fingerprint("1.2"), Fingerprint("1.3")], [], 0.9, lambda *so_far: calls.append(so_far)
    )
    assert calls == [(1, 2), (2, 2)]
