"""An image archive runs without an engine, and not if any byte of it does not match its digest."""

import json
import stat
from pathlib import Path
from tarfile import CHRTYPE, DIRTYPE, FIFOTYPE, LNKTYPE, REGTYPE, SYMTYPE

import pytest

from builders import images
from builders.algorithms import needs_bubblewrap, small_volume
from builders.images import (
    MANIFEST,
    archive,
    config_of,
    docker,
    layer,
    layer_of,
    layers,
    needs_busybox,
    oci,
)
from nodulebench.core.errors import InputError
from nodulebench.runner import image_archive as image_module
from nodulebench.runner.algorithms import read_algorithm, unpacked
from nodulebench.runner.image_archive import mount_target, unpack_image
from nodulebench.runner.isolation.bubblewrap import Bubblewrap
from nodulebench.runner.isolation.scratch import in_own_thread, scratch_folder
from nodulebench.runner.slot import CaseRun, open_slot

SMALL = [layer({"a/b": b"one", "a/c": b"two"}), layer({"a/.wh.b": b"", "a/d": b"three"})]


@needs_bubblewrap
@needs_busybox
@pytest.mark.parametrize("kind", ["oci", "oci zstd", "docker"])
def test_an_image_of_grand_challenge_runs_unchanged_without_an_executor(
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
    assert (run.state, run.why) == ("ok", None), run.output
    assert run.marks.select("x_mm", "score").rows() == [(1.0, 0.5)]


@pytest.mark.parametrize("pack", ["", "gzip"])
def test_layers_lie_over_each_other(tmp_path: Path, pack: str) -> None:
    files, digest = oci(SMALL)
    image = unpack_image(archive(files, tmp_path / "x.tar", pack), tmp_path / "root")
    assert image.digest == digest
    assert (image.command, image.folder) == (("/opt/app/detect.sh",), "/opt/app")
    assert image.environment == {"PATH": "/bin", "MODE": "fast"}
    assert sorted(path.name for path in (tmp_path / "root" / "a").iterdir()) == ["c", "d"]
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
        with pytest.raises(InputError, match=r"match its digest|cannot be|can be unpacked"):
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
    ("files", "message"),
    [
        ({"x": b""}, "neither an index.json nor a manifest.json"),
        ({"index.json": b'{"manifests": []}'}, "contains 0 images"),
        ({"index.json": b'{"manifests": [{"digest": "md5:1"}]}'}, "which is not a SHA-256"),
        ({"index.json": b'{"manifests": [{"digest": 5}]}'}, "cannot be unpacked"),
        ({"manifest.json": b'[{"Config": "x", "Layers": [5]}]', "x": b"{}"}, "cannot be unpacked"),
        ({"index.json": b"[" * 100_000}, "cannot be"),
        ({"index.json": b"{"}, r"index\.json cannot be read"),
        ({"../x": b""}, "names files outside of itself"),
    ],
)
def test_an_invalid_image_is_reported(
    tmp_path: Path, files: dict[str, bytes], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        unpack_image(archive(files, tmp_path / "x.tar"), tmp_path / "root")


def test_an_invalid_archive_is_reported(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(b"not an archive" * 100)
    with pytest.raises(InputError, match="cannot be unpacked as an image"):
        unpack_image(tmp_path / "x.tar", tmp_path / "root")


BASE = layer({"a/b": b"1", "c": b"2", "up": "..", "top": "/", "out": "../../.."})


def contents(folder: Path) -> dict[str, bytes | str | None]:
    """All below a folder: the bytes of files, the targets of links, None for folders."""
    return {
        path.relative_to(folder).as_posix(): str(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize(
    "entry",
    [
        (".wh...", REGTYPE, b""),
        ("a/.wh...", REGTYPE, b""),
        (".wh..", REGTYPE, b""),
        ("a/.wh..", REGTYPE, b""),
        (".wh.", REGTYPE, b""),
        ("a/.wh.", REGTYPE, b""),
        ("a/.wh.b\0c", REGTYPE, b""),
        ("up/.wh...", REGTYPE, b""),
        ("out/.wh...", REGTYPE, b""),
        ("../.wh...", REGTYPE, b""),
        ("/.wh...", REGTYPE, b""),
        ("a/../../../.wh...", REGTYPE, b""),
        (".wh...", SYMTYPE, "/"),
        (".wh...", DIRTYPE, b""),
        (".", REGTYPE, b"x"),
        ("..", REGTYPE, b"x"),
        ("a/..", REGTYPE, b"x"),
        ("/", SYMTYPE, "/etc"),
        (".", SYMTYPE, "/etc"),
        ("..", SYMTYPE, "/etc"),
        ("a/..", SYMTYPE, "/etc"),
        (".", LNKTYPE, "c"),
        (".", FIFOTYPE, b""),
        ("..", CHRTYPE, b""),
        ("x", LNKTYPE, ".."),
        ("x", LNKTYPE, "a/.."),
        ("x", LNKTYPE, "/"),
        ("x", LNKTYPE, "outside"),
        ("x", LNKTYPE, "../outside"),
        ("a/b/x", REGTYPE, b""),
    ],
    ids=lambda entry: f"{entry[0]!r}-{entry[1].decode()}-{entry[2]!r}",
)
def test_an_entry_that_names_no_place_below_the_root_is_refused(
    tmp_path: Path, entry: tuple[str, bytes, str | bytes]
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "outside").write_bytes(b"must stay")
    files, _ = oci([BASE, layer_of(entry)])
    path = archive(files, place / "x.tar")
    before = contents(place)
    with pytest.raises(InputError, match=r"x\.tar: .+\. \S"):
        unpack_image(path, place / "s" / "root")
    left = contents(place)
    assert {name: left.get(name) for name in before} == before
    assert {name for name in left if not name.startswith("s")} == set(before)
    assert {name for name in left if name.count("/") == 1} <= {"s/root"}


@pytest.mark.parametrize(
    ("name", "is_left"),
    [
        ("a/.wh.b", {"c", "k"}),
        ("top/a/.wh.b", {"c", "k"}),
        ("up/.wh.a", {"c", "k"}),
        ("out/.wh.c", {"a/b", "k"}),
        ("../../.wh.c", {"a/b", "k"}),
        ("/.wh.c", {"a/b", "k"}),
        (".wh.nothing", {"a/b", "c", "k"}),
        ("nowhere/.wh.x", {"a/b", "c", "k"}),
        ("a/.wh..wh..opq", {"c", "k"}),
        (".wh..wh..opq", {"k"}),
        ("top/.wh..wh..opq", {"k"}),
        ("out/.wh..wh..opq", {"k"}),
        ("c/.wh..wh..opq", {"a/b", "c", "k"}),
    ],
)
def test_a_whiteout_removes_only_what_is_below_the_root(
    tmp_path: Path, name: str, is_left: set[str]
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "c").write_bytes(b"must stay")
    files, _ = oci([BASE, layer_of((name, REGTYPE, b""), ("k", REGTYPE, b"3"))])
    root = place / "s" / "root"
    unpack_image(archive(files, place / "x.tar"), root)
    assert (place / "c").read_bytes() == b"must stay"
    files_left = {path for path, value in contents(root).items() if isinstance(value, bytes)}
    assert {path for path in files_left if not path.startswith("etc/")} == is_left


def test_nothing_outside_of_a_root_can_be_erased(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (root / "link").symlink_to(tmp_path)
    (tmp_path / "file").write_bytes(b"1")
    for path in (
        root,
        root / "..",
        root / "a" / "..",
        root / "a" / ".." / ".." / "file",
        root / "link" / "file",
        tmp_path,
        tmp_path / "file",
    ):
        with pytest.raises(ValueError, match="outside"):
            image_module._erase(root, path)
    image_module._erase(root, root / "link")  # a link itself is inside
    image_module._erase(root, root / "a")
    assert contents(tmp_path) == {"file": b"1", "root": None}


def test_a_hard_link_in_a_layer_shares_only_what_the_image_holds(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"secret")
    first = layer_of(
        ("etc/hosts", REGTYPE, b"own"),
        ("link", SYMTYPE, str(outside)),
        ("shared", LNKTYPE, "/etc/hosts"),
        ("to-link", LNKTYPE, "link"),
    )
    files, _ = oci([first, layer_of(("to-link", REGTYPE, b"new"), ("shared", REGTYPE, b"new"))])
    root = tmp_path / "s" / "root"
    unpack_image(archive(files, tmp_path / "x.tar"), root)
    assert outside.read_bytes() == b"secret"
    assert outside.stat().st_nlink == 1
    assert (root / "etc" / "hosts").read_bytes() == b"own"
    assert (root / "to-link").read_bytes() == b"new"


@pytest.mark.parametrize(
    "entries",
    [
        [("index.json", SYMTYPE, "/etc/passwd")],
        [("index.json", LNKTYPE, "/etc/passwd")],
        [("index.json", SYMTYPE, "../outside")],
        [("blobs", SYMTYPE, "/"), ("blobs/x", REGTYPE, b"1")],
        [("..", REGTYPE, b"1")],
        [("a/../../x", REGTYPE, b"1")],
        [("/x", REGTYPE, b"1")],
        [(".", REGTYPE, b"1")],
        [("a", SYMTYPE, "b"), ("b", SYMTYPE, "a")],
    ],
)
def test_an_archive_reads_and_writes_only_its_own_parts(
    tmp_path: Path, entries: list[tuple[str, bytes, str | bytes]]
) -> None:
    (tmp_path / "outside").write_text('{"manifests": []}')
    path = tmp_path / "x.tar"
    path.write_bytes(layer_of(*entries))
    before = contents(tmp_path)
    with pytest.raises(InputError, match=r"x\.tar"):
        unpack_image(path, tmp_path / "s" / "root")
    assert {name: value for name, value in contents(tmp_path).items() if name != "s"} == before


@pytest.mark.parametrize("bits", [0o4755, 0o2755, 0o6755])
def test_no_program_of_an_image_changes_who_it_runs_as(tmp_path: Path, bits: int) -> None:
    import io
    import tarfile

    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        entry = tarfile.TarInfo("x")
        entry.mode = bits
        tar.addfile(entry)
    files, _ = oci([content.getvalue()])
    unpack_image(archive(files, tmp_path / "x.tar"), tmp_path / "root")
    assert stat.S_IMODE((tmp_path / "root" / "x").stat().st_mode) == 0o755


def test_layers_that_are_larger_than_an_image_may_be_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [layer({f"file-{number}": bytes(200_000)}) for number in range(8)]  # packs to little
    path = archive(oci(parts)[0], tmp_path / "x.tar")
    monkeypatch.setattr(image_module, "LARGEST_IMAGE_BYTES", 1_000_000)
    with pytest.raises(InputError, match="is larger than any image may be"):
        unpack_image(path, tmp_path / "root")


@pytest.mark.parametrize(
    ("name", "target", "mounted", "leads_to"),
    [
        ("input", "/outside", "/input", "/outside"),
        ("output", "../../outside", "/output", "/outside"),
        ("opt", "/usr/opt", "/opt/ml/model", "/usr/opt/ml/model"),
        ("opt", "../..", "/opt/ml/model", "/ml/model"),
        ("tmp", "../../outside", "/tmp", "/tmp"),  # noqa: S108 - of an image
        ("proc", "/outside", "/proc", "/proc"),
        ("dev", "/", "/dev", "/dev"),
        ("sys", ".", "/sys", "/sys"),
        ("input", "/", "", ""),
        ("output", "../..", "", ""),
        ("output", "/proc/1", "", ""),
        ("opt", "tmp/x", "", ""),
    ],
)
def test_mount_points_of_an_image_lie_in_it(
    tmp_path: Path, name: str, target: str, mounted: str, leads_to: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o700)
    root = tmp_path / "s" / "root"
    path = archive(oci([layer({name: target})])[0], tmp_path / "x.tar")
    if mounted:
        unpack_image(path, root)
        assert mount_target(root, mounted) == leads_to
        assert root.joinpath(leads_to[1:]).is_dir()
    else:
        with pytest.raises(InputError, match=r"x\.tar: .*'\S+' is a link to '/.*Build"):
            unpack_image(path, root)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outside", "s", "x.tar"]
    assert list(outside.iterdir()) == []
    assert stat.S_IMODE(outside.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "settings",
    [
        {"Entrypoint": ["/x"], "Env": ["A=1\0--bind\0/\0/x"]},
        {"Entrypoint": ["/x"], "Env": ["=1"]},
        {"Entrypoint": ["/x"], "Env": [5]},
        {"Entrypoint": ["/x\0y"]},
        {"Entrypoint": 5},
        {"Entrypoint": ["/x"], "WorkingDir": "/\0x"},
        {"Entrypoint": ["/x"], "WorkingDir": 5},
        ["Entrypoint"],
    ],
)
def test_settings_that_no_program_can_be_started_with_are_refused(
    tmp_path: Path, settings: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = layer({"x": b"1"})
    named = json.loads(config_of([part])) | {"config": settings}
    monkeypatch.setattr(images, "config_of", lambda _: json.dumps(named).encode())
    path = archive(oci([part])[0], tmp_path / "x.tar")
    with pytest.raises(InputError, match=r"x\.tar: cannot be unpacked as an image .*Build"):
        unpack_image(path, tmp_path / "root")
