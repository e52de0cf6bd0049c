import numpy as np
import pytest

from builders.hashes import similarity
from nodulebench.curation.admission_checks import Limits
from nodulebench.curation.perceptual_hash import BITS, PerceptualHash, perceptual_hash
from nodulebench.phantom.patient import make_patient
from nodulebench.phantom.scan import scan_patient
from nodulebench.phantom.scanner import Scanner

LIMIT = Limits().near_duplicate_similarity


def scanned(number, scanner=None, **options):
    scan = scan_patient(make_patient(3, number), scanner or Scanner(4, 4, 3.2, 110), **options)
    return scan.volume.hu.astype(np.float32), scan.volume.geometry.spacing_mm[::-1]


@pytest.fixture(scope="module")
def scan():
    return scanned(1)


@pytest.fixture(scope="module")
def own(scan):
    return perceptual_hash(*scan)


def test_the_hash_ignores_shift_and_scale_of_hu(scan, own):
    hu, step = scan
    assert similarity(own, perceptual_hash(hu * 1.3 + 777, step)) > 0.99


def test_a_scan_cut_at_both_ends_or_at_the_edge_is_recognised(scan, own):
    hu, step = scan
    assert similarity(own, perceptual_hash(hu[6:-5], step)) >= LIMIT
    assert similarity(own, perceptual_hash(hu[:, 5:-4, 3:-5], step)) >= LIMIT


@pytest.mark.slow
def test_another_reconstruction_is_recognised(own):
    again = scanned(1, Scanner(2.5, 2.5, 2.9, 128, "sharp", 40), position_mm=(9, -4, 33), repeat=1)
    assert similarity(own, perceptual_hash(*again)) >= LIMIT


@pytest.mark.slow
def test_another_patient_is_not_taken_for_the_same(own):
    assert similarity(own, perceptual_hash(*scanned(2))) < LIMIT


def test_an_image_without_lungs_has_no_hash():
    assert perceptual_hash(np.zeros((30, 64, 64), np.float32), np.array([5.0, 4.0, 4.0])) is None


def random_hash(levels, seed):
    return PerceptualHash(np.random.default_rng(seed).integers(0, 2, (levels, BITS), np.uint8))


def test_similarity_is_the_share_of_equal_bits_at_the_best_shift():
    first = random_hash(40, 1)
    assert similarity(first, first) == 1.0
    moved = PerceptualHash(first.bits[7:35])
    assert similarity(first, moved) == 1.0
    changed = first.bits.copy()
    changed[:, : BITS // 4] ^= 1
    assert similarity(first, PerceptualHash(changed)) == pytest.approx(0.75)


def test_similarity_is_the_same_both_ways_and_half_by_chance():
    first, other = random_hash(40, 1), random_hash(60, 2)
    assert similarity(first, other) == pytest.approx(similarity(other, first))
    assert similarity(first, other) == pytest.approx(0.5, abs=0.02)


def test_scans_that_share_too_little_are_not_compared():
    assert similarity(random_hash(20, 1), random_hash(60, 2)) == 0.0


def test_a_hash_survives_being_written_down():
    first = random_hash(33, 4)
    assert np.array_equal(PerceptualHash.from_text(first.to_text()).bits, first.bits)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2:3:AAAA", "not a perceptual hash of version 1"),
        ("1:0:AAAA", "not a perceptual hash of version 1"),
        ("1:3:AAAA", "a damaged perceptual hash"),
        ("1:3:eJwDAAAAAAE=", "a perceptual hash that was cut off"),
        ("something else", "invalid literal"),
    ],
)
def test_a_text_that_is_not_a_hash_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        PerceptualHash.from_text(text)
