"""The voxels of a scan are cached once, completely, and again if the scan changes."""

import os
from dataclasses import replace
from pathlib import Path
from threading import Event
from time import sleep

import numpy as np
import pytest

from builders.reading import BALL_MM, ball, write_scans
from nodulebench.web.viewer import session as session_module
from nodulebench.web.viewer.scans import VOXELS, Scan, Tiles, cached_tiles, scans_in, tiles_of
from nodulebench.web.viewer.session import open_session


def the_scan(folder: Path) -> Scan:
    (scan,) = scans_in(write_scans(folder / "scans", "a"))
    return scan


def test_slices_are_sent_feet_first(tmp_path: Path) -> None:
    upside_down = ball(direction=np.diag([1.0, 1.0, -1.0]))
    (scan,) = scans_in(write_scans(tmp_path / "scans", "a", volume=upside_down))
    tiles = tiles_of(scan, tmp_path / "cache")
    sent = np.frombuffer(tiles.slices(2, 3), dtype="<i2").reshape(3, 60, 64)
    assert np.array_equal(sent, upside_down.hu[::-1][2:5])
    assert not tiles.is_resampled
    brightest = np.argwhere(tiles.volume.hu == tiles.volume.hu.max())[:, ::-1].mean(axis=0)
    assert np.abs(tiles.grid.to_world(brightest[None])[0] - BALL_MM).max() < 0.6


def test_a_scan_is_read_once(tmp_path: Path) -> None:
    scan = the_scan(tmp_path)
    first = tiles_of(scan, tmp_path / "cache")

    def never() -> None:
        raise AssertionError("it is there already")

    again = tiles_of(replace(scan, read=never), tmp_path / "cache")
    assert np.array_equal(first.volume.hu, again.volume.hu)
    assert np.array_equal(first.grid.origin_mm, again.grid.origin_mm)


def test_a_changed_scan_is_read_again(tmp_path: Path) -> None:
    scan = the_scan(tmp_path)
    tiles_of(scan, tmp_path / "cache")
    brighter = ball()
    brighter.hu[:] += 7
    write_scans(tmp_path / "scans", "a", volume=brighter)
    os.utime(scan.files[0], ns=(1, 1))
    assert np.array_equal(tiles_of(scan, tmp_path / "cache").volume.hu, brighter.hu)


def test_an_interrupted_import_is_not_used(tmp_path: Path) -> None:
    scan = the_scan(tmp_path)

    def stopped() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tiles_of(replace(scan, read=stopped), tmp_path / "cache")
    assert tiles_of(scan, tmp_path / "cache").volume.shape == (24, 60, 64)


def test_a_scan_is_shown_before_it_is_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_keep, folder = Event(), tmp_path / "reading"

    def slowly(tiles: Tiles, scan: Scan, cache: Path) -> Tiles:
        assert may_keep.wait(600)
        return cached_tiles(tiles, scan, cache)

    monkeypatch.setattr(session_module, "cached_tiles", slowly)
    with open_session(write_scans(tmp_path / "scans", "a"), "anna", folder) as session:
        shown = session.tiles(0, waits_s=600)
        assert not list(folder.rglob(VOXELS))
        may_keep.set()
        while not isinstance(session.tiles(0, waits_s=600).volume.hu, np.memmap):
            sleep(0.01)
        assert np.array_equal(session.tiles(0, waits_s=600).volume.hu, shown.volume.hu)
