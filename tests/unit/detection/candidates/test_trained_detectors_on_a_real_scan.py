import numpy as np
import polars as pl
import pytest

from builders.places import TEST_DATA
from builders.real_scans import plain_scan
from nodulebench.detection.candidates import DETECTORS
from nodulebench.detection.scan import prepare_scan
from nodulebench.io.dicom.volumes import read_volume

pytestmark = pytest.mark.slow

SERIES = "1.3.6.1.4.1.14519.5.2.1.6279.6001.269075535958871753309238331179"


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    """LIDC-IDRI-0407 and its three LUNA16 nodules (12.2, 5.5 and 5.5 mm)."""
    truth = TEST_DATA / "luna16" / "annotations.csv"
    if not truth.is_file():
        pytest.skip(f"no {truth}; set NODULEBENCH_TEST_DATA")
    folder = plain_scan(tmp_path_factory, "LIDC-IDRI-0407")
    nodules = pl.read_csv(truth).filter(pl.col("seriesuid") == SERIES)
    return (
        prepare_scan(read_volume(folder)),
        nodules.select("coordX", "coordY", "coordZ").to_numpy(),
        nodules["diameter_mm"].to_numpy(),
    )


@pytest.mark.parametrize(
    ("name", "most", "among"), [("etrocad", 300, 8), ("m5l", 80, 4), ("mot_m5lv1", 220, 4)]
)
def test_all_nodules_are_among_the_highest_scores(scan, name, most, among):
    chest, place, diameter_mm = scan
    candidates = DETECTORS[name](chest)
    assert len(candidates) <= most
    best = candidates.best(among)
    apart = np.linalg.norm(best.center_mm[:, None] - place[None], axis=2)
    assert (apart.min(axis=0) < diameter_mm / 2).all()
    assert ((candidates.score >= 0) & (candidates.score <= 1)).all()
