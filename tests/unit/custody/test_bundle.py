"""A test set as a bag: tables, images or a list of them, a datasheet that names its gaps."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from builders.people import person_key
from builders.sealed import SealedLab, make_lab
from nodulebench.core.errors import InputError
from nodulebench.curation.sampling import draw_files
from nodulebench.custody.bundle import BundleOptions, image_problems, write_bundle
from nodulebench.custody.seal import seal_bundle
from nodulebench.custody.sealed_set import open_sealed
from nodulebench.evaluation.verify import verify_folder
from nodulebench.io.formats import read_reference
from nodulebench.io.manifests import tag_files


@pytest.fixture
def lab(tmp_path: Path) -> SealedLab:
    return make_lab(tmp_path)


def test_a_bundle_with_images_is_a_valid_bag_and_reads_back(lab: SealedLab) -> None:
    out = lab.folder / "bag"
    made = write_bundle(BundleOptions(reference=lab.bundle, out=out, images=lab.bundle / "images"))
    assert (made.cases, made.images, made.without_images) == (4, 2, ("scan2", "scan3"))
    again = read_reference(out)
    assert again.nodules.equals(read_reference(lab.bundle).nodules)
    verified = verify_folder(out)
    assert verified.is_good, verified.problems
    assert (out / "data" / "images" / "scan0" / "0001.dcm").read_bytes() == b"scan0" * 50
    bagit = pytest.importorskip("bagit", reason="bagit is not installed")
    assert bagit.Bag(str(out)).validate()


def test_a_changed_image_or_table_is_named(lab: SealedLab) -> None:
    out = lab.folder / "bag"
    write_bundle(BundleOptions(reference=lab.bundle, out=out, images=lab.bundle / "images"))
    for name in ("data/images/scan0/0001.dcm", "data/nodules.parquet", "datasheet.md"):
        path = out / name
        original = path.read_bytes()
        path.write_bytes(original[:-1] + bytes([original[-1] ^ 1]))
        verified = [str(problem) for problem in verify_folder(out).problems]
        assert len(verified) == 1
        assert verified[0].startswith(f"{path}: was changed")
        path.write_bytes(original)


def test_images_can_be_listed_instead_of_copied(lab: SealedLab) -> None:
    out, images = lab.folder / "bag", lab.bundle / "images"
    made = write_bundle(
        BundleOptions(reference=lab.bundle, out=out, images=images, lists_images=True)
    )
    assert made.images == 2
    listed = pl.read_csv(out / "data" / "images.csv")
    assert listed["case_id"].to_list() == ["scan0", "scan1"]
    assert listed["bytes"].to_list() == [250, 250]
    assert image_problems(out, images) == []
    (images / "scan0" / "0001.dcm").write_bytes(b"other")
    (images / "scan1" / "0001.dcm").unlink()
    assert [str(problem) for problem in image_problems(out, images)] == [
        f"{images / 'scan0' / '0001.dcm'}: is not the file that images.csv lists.",
        f"{images / 'scan1' / '0001.dcm'}: is listed in images.csv, but does not exist.",
    ]


def test_an_image_of_no_case_is_refused(lab: SealedLab) -> None:
    (lab.bundle / "images" / "holiday.jpg").write_bytes(b"x")
    with pytest.raises(InputError, match=r"holiday.jpg: belongs to no case\. Name files"):
        write_bundle(
            BundleOptions(
                reference=lab.bundle, out=lab.folder / "bag", images=lab.bundle / "images"
            )
        )
    assert not (lab.folder / "bag").exists()


def test_what_a_bag_cannot_hold_is_refused_by_name(lab: SealedLab) -> None:
    images = lab.folder / "images"
    (images / "scan0").mkdir(parents=True)
    (images / "scan0" / "im\udcff").write_bytes(b"image")
    (images / "scan0" / "lost").symlink_to(lab.folder / "nowhere")
    with pytest.raises(InputError) as caught:
        write_bundle(BundleOptions(reference=lab.bundle, out=lab.folder / "bag", images=images))
    assert [str(problem) for problem in caught.value.problems] == [
        f"{images}/scan0/im\\xff: has a name that is not UTF-8. A bag cannot hold it.",
        f"{images}/scan0/lost: is not a file. A bag cannot hold it.",
    ]
    assert not (lab.folder / "bag").exists()


def test_folders_of_images_may_be_links_and_must_be_readable(lab: SealedLab) -> None:
    images, archive = lab.folder / "linked", lab.folder / "archive"
    (archive / "deep").mkdir(parents=True)
    (archive / "deep" / "0001.dcm").write_bytes(b"image")
    (archive / "circle").symlink_to(archive)
    images.mkdir()
    (images / "scan1").symlink_to(archive)
    made = write_bundle(BundleOptions(reference=lab.bundle, out=lab.folder / "bag", images=images))
    assert made.images == 1
    copied = lab.folder / "bag" / "data" / "images" / "scan1" / "deep" / "0001.dcm"
    assert copied.read_bytes() == b"image"
    with pytest.raises(InputError, match="nowhere: cannot be read: No such file or direct"):
        write_bundle(
            BundleOptions(
                reference=lab.bundle, out=lab.folder / "other", images=lab.folder / "nowhere"
            )
        )


def test_image_files_belong_to_the_case_of_their_name(lab: SealedLab) -> None:
    images = lab.folder / "images"
    images.mkdir()
    for name in ("scan0.mhd", "scan0.zraw", "scan1.nii.gz", "scan2"):
        (images / name).write_bytes(b"x")
    made = write_bundle(BundleOptions(reference=lab.bundle, out=lab.folder / "bag", images=images))
    assert (made.images, made.without_images) == (4, ("scan3",))


def test_a_curation_gives_a_bundle_its_images_and_what_is_known_of_its_cases(
    lab: SealedLab,
) -> None:
    archive, curated = lab.folder / "archive", lab.folder / "curated"
    archive.mkdir()
    curated.mkdir()
    for number in range(3):
        (archive / f"IM{number}").write_bytes(bytes([number]))
    rows = ["scan0,0,IM2,0", "scan0,1,IM0,0", "scan9,0,IM1,0"]
    (curated / "case_files.csv").write_text("\n".join(["case_id,slice_index,file,frame", *rows]))
    (curated / "curation.json").write_text('{"folder": "../archive"}')
    known = pl.DataFrame({"case_id": ["scan0", "scan9"], "vendor": ["GE", "Canon"]})
    known.write_parquet(curated / "cases.parquet")
    made = write_bundle(
        BundleOptions(reference=lab.bundle, out=lab.folder / "bag", curated=curated)
    )
    assert (made.images, made.without_images) == (2, ("scan1", "scan2", "scan3"))
    images = lab.folder / "bag" / "data" / "images" / "scan0"
    assert [path.read_bytes() for path in sorted(images.iterdir())] == [b"\x02", b"\x00"]
    cases = read_reference(lab.folder / "bag").cases
    assert cases.select("case_id", "vendor").row(0) == ("scan0", "GE")
    listed = lab.folder / "list"
    write_bundle(
        BundleOptions(reference=lab.bundle, out=listed, curated=curated, lists_images=True)
    )
    assert image_problems(listed, archive) == []


def test_only_drawn_cases_are_bundled_and_how_they_were_drawn_is_reported(lab: SealedLab) -> None:
    (lab.folder / "drawn.csv").write_text("case_id,vendor\nscan3,GE\nscan0,GE\n")
    out = lab.folder / "bag"
    made = write_bundle(
        BundleOptions(
            reference=lab.bundle, out=out, series=lab.folder / "drawn.csv", name="lung-2026a"
        )
    )
    assert (made.name, made.cases) == ("lung-2026a", 2)
    assert read_reference(out).cases["case_id"].to_list() == ["scan3", "scan0"]
    (lab.folder / "design.toml").write_text('name = "few"\npurpose = "To test."\n')
    drawn = lab.folder / "two.csv"
    draw_files(lab.bundle, str(lab.folder / "design.toml"), 2, 7, drawn)
    write_bundle(BundleOptions(reference=lab.bundle, out=lab.folder / "two", series=drawn))
    sheet = json.loads((lab.folder / "two" / "datasheet.json").read_text())["answers"]
    assert sheet["purpose"]["answer"] == "To test."
    assert sheet["sampling"]["answer"].startswith("2 of 4 admitted cases drawn at random, design")


def test_the_datasheet_holds_what_is_known_and_names_the_rest(lab: SealedLab) -> None:
    made = write_bundle(BundleOptions(reference=lab.bundle, out=lab.folder / "bag"))
    sheet = json.loads((lab.folder / "bag" / "datasheet.json").read_text())
    known = {
        name: answer["answer"] for name, answer in sheet["answers"].items() if answer["answer"]
    }
    assert known == {
        "cases": "4 cases of 4 patients.",
        "nodules": "4 nodules, and 0 findings to be ignored. Types: solid 4.",
        "sizes": "Diameters 8.0 to 8.0 mm; 0 to 3 mm: 0; 3 to 6 mm: 0; 6 to 10 mm: 4; "
        "10 to 20 mm: 0; 20 to 30 mm: 0; 30 mm and more: 0.",
    }
    assert set(made.gaps) == set(sheet["answers"]) - set(known)
    page = (lab.folder / "bag" / "datasheet.md").read_text()
    assert page.count("**Not stated.**") == len(made.gaps)
    stages = {answer["life_cycle"] for answer in sheet["answers"].values()}
    assert stages >= {
        "collection",
        "annotation",
        "transfer",
        "use",
        "storage",
        "maintenance",
        "update",
        "retirement",
    }


def test_how_a_set_came_about_and_what_was_stated_travel_through_bag_and_seal(
    lab: SealedLab,
) -> None:
    made = {"rule": "nifdc-2022", "events": [{"step": "read", "actor_id": "ann"}]}
    (lab.bundle / "provenance.json").write_text(json.dumps(made))
    answers = lab.folder / "datasheet.toml"
    answers.write_text('purpose = "To test."\nkey_custodian = "First key custodian"\n')
    bag = lab.folder / "bag"
    write_bundle(BundleOptions(reference=lab.bundle, out=bag, answers=answers))
    assert json.loads((bag / "data" / "provenance.json").read_text()) == made
    answers.write_text('key_custodian = "Second key custodian"\n')
    seal_bundle(replace(lab.order(), bundle=bag, answers=answers))
    sheet = json.loads((lab.sealed / "datasheet.json").read_text())["answers"]
    answers = {name: sheet[name]["answer"] for name in ("purpose", "key_custodian", "readers")}
    assert answers == {
        "purpose": "To test.",
        "key_custodian": "Second key custodian",
        "readers": "1 reader, blind to each other until all had read.",
    }
    opened = open_sealed(lab.sealed, person_key("Ada"), "export")
    assert json.loads(opened.plain("provenance.json")) == made
    again = lab.folder / "again"
    write_bundle(BundleOptions(reference=bag, out=again))
    assert (
        json.loads((again / "datasheet.json").read_text())["answers"]["purpose"] == sheet["purpose"]
    )


def test_an_answer_to_no_question_is_refused(lab: SealedLab) -> None:
    answers = lab.folder / "datasheet.toml"
    answers.write_text('porpose = "x"\n')
    message = r"field 'porpose': is unknown\. Did you mean 'purpose'\?"
    with pytest.raises(InputError, match=message):
        write_bundle(BundleOptions(reference=lab.bundle, out=lab.folder / "bag", answers=answers))


def test_bag_manifests_escape_what_a_line_cannot_hold() -> None:
    from datetime import date

    made = tag_files(
        {"data/100%\n.dcm": "sha256:" + "0" * 64},
        payload_bytes=7,
        description="two\nlines",
        day=date(2026, 1, 2),
        agent="NoduleBench",
        others={},
    )
    assert made["manifest-sha256.txt"] == b"0" * 64 + b"  data/100%25%0A.dcm\n"
    assert b"External-Description: two lines\n" in made["bag-info.txt"]
    assert b"Payload-Oxum: 7.1\n" in made["bag-info.txt"]
    assert made["tagmanifest-sha256.txt"].count(b"\n") == 3
