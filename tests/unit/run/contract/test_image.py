"""An image archive runs without an engine, and not if any byte of it is not as its digest says."""

from pathlib import Path

import pytest

from builders.algorithms import needs_bubblewrap, small_volume
from builders.images import MANIFEST, archive, config_of, docker, layer, layers, needs_busybox, oci
from nodulebench.errors import InputError
from nodulebench.run.contract.algorithm import read_algorithm, unpacked
from nodulebench.run.contract.image import unpack_image
from nodulebench.run.isolation.bubblewrap import Bubblewrap
from nodulebench.run.isolation.scratch import in_own_thread, scratch_folder
from nodulebench.run.slot import CaseRun, open_slot

SMALL = [layer({"a/b": b"one", "a/c": b"two"}), layer({"a/.wh.b": b"", "a/d": b"three"})]


@needs_bubblewrap
@needs_busybox
@pytest.mark.parametrize("kind", ["oci", "oci zstd", "docker"])
def test_an_image_of_grand_challenge_runs_unchanged_without_an_engine(
    tmp_path: Path, kind: str
) -> None:
    pack = "zstd" if "zstd" in kind else "gzip"
    files, digest = docker(layers()) if kind == "docker" else oci(layers(), pack)
    archive(files, tmp_path / "mine" / "image.tar", pack)
    (tmp_path / "mine" / "algorithm.toml").write_text(MANIFEST.format(digest=digest))
    algorithm = read_algorithm(tmp_path / "mine")

    def read() -> CaseRun:
        with scratch_folder() as place:
            whole = unpacked(algorithm, place)
            assert whole.image_digest == digest
            with open_slot(whole, Bubblewrap(), place / "slot") as slot:
                return slot.read(small_volume(), "case-1")

    run = in_own_thread(read)
    assert (run.state, run.why) == ("ok", None), run.said
    assert run.marks.select("x_mm", "score").rows() == [(1.0, 0.5)]


@pytest.mark.parametrize("pack", ["", "gzip"])
def test_layers_lie_over_each_other(tmp_path: Path, pack: str) -> None:
    files, digest = oci(SMALL)
    image = unpack_image(archive(files, tmp_path / "x.tar", pack), tmp_path / "root")
    assert image.digest == digest
    assert (image.command, image.folder) == (("/opt/app/detect.sh",), "/opt/app")
    assert image.environment == {"PATH": "/bin", "MODE": "fast"}
    assert sorted(one.name for one in (tmp_path / "root" / "a").iterdir()) == ["c", "d"]
    assert (tmp_path / "root" / "a" / "d").stat().st_mode & 0o777 == 0o755
    assert not (tmp_path / "root-parts").exists()


def test_links_of_an_image_lead_nowhere_outside(tmp_path: Path) -> None:
    parts = [layer({"out": str(tmp_path), "up": "../../../..", "in": "/a"}), layer({"out/x": b"1"})]
    parts += [layer({"up/y": b"2", "in/z": b"3", "../../w": b"4"})]
    files, _ = oci(parts)
    root = tmp_path / "below" / "root"
    unpack_image(archive(files, tmp_path / "x.tar"), root)
    assert not (tmp_path / "x").exists()
    inside = root / str(tmp_path).lstrip("/") / "x"
    assert inside.read_bytes() == b"1"
    assert [(root / name).read_bytes() for name in ("y", "a/z", "w")] == [b"2", b"3", b"4"]


def test_a_circle_of_links_is_refused(tmp_path: Path) -> None:
    files, _ = oci([layer({"a": "b", "b": "a"}), layer({"a/x": b"1"})])
    with pytest.raises(InputError, match="links lead in a circle"):
        unpack_image(archive(files, tmp_path / "x.tar"), tmp_path / "root")


@pytest.mark.parametrize("made", [oci, docker])
def test_any_changed_part_is_noticed(tmp_path: Path, made) -> None:
    files, _ = made(SMALL)
    parts = [name for name in files if name not in ("oci-layout", "index.json", "manifest.json")]
    assert len(parts) >= 3
    for number, name in enumerate(parts):
        changed = dict(files)
        content = bytearray(files[name])
        content[len(content) // 2] ^= 1
        changed[name] = bytes(content)
        path = archive(changed, tmp_path / f"{number}.tar")
        with pytest.raises(InputError, match=r"as its digest says|cannot be|can be unpacked"):
            unpack_image(path, tmp_path / f"root-{number}")


def test_another_image_than_declared_is_refused(tmp_path: Path) -> None:
    path = archive(oci(SMALL)[0], tmp_path / "x.tar")
    with pytest.raises(InputError, match=r"is the image sha256:\w+, not sha256:0000"):
        unpack_image(path, tmp_path / "root", f"sha256:{'0' * 64}")


def test_the_image_s_id_may_be_declared_too(tmp_path: Path) -> None:
    import hashlib

    files, _ = oci(SMALL)
    declared = f"sha256:{hashlib.sha256(config_of(SMALL)).hexdigest()}"
    unpack_image(archive(files, tmp_path / "x.tar"), tmp_path / "root", declared)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"x": b""}, "neither an index.json nor a manifest.json"),
        ({"index.json": b'{"manifests": []}'}, "holds 0 images"),
        ({"index.json": b'{"manifests": [{"digest": "md5:1"}]}'}, "which is no SHA-256"),
        ({"index.json": b"{"}, r"index\.json cannot be read"),
        ({"../x": b""}, "names files outside of itself"),
    ],
)
def test_what_is_no_image_is_told(tmp_path: Path, files: dict[str, bytes], told: str) -> None:
    with pytest.raises(InputError, match=told):
        unpack_image(archive(files, tmp_path / "x.tar"), tmp_path / "root")


def test_a_file_that_is_no_archive_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(b"not an archive" * 100)
    with pytest.raises(InputError, match="is no image that can be unpacked"):
        unpack_image(tmp_path / "x.tar", tmp_path / "root")
