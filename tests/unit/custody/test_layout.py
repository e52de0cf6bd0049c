"""Where files of a sealed set lie, and under whose key."""

import pytest

from nodulebench.custody.layout import (
    IMAGE_LIST,
    IMAGES,
    RESULTS,
    SealedPath,
    change_file,
    change_stage,
    compartment_of,
    event_file,
    grows,
    result_file,
    sealed_file,
    sealed_path_of,
)


def test_images_stay_plain_unless_they_are_encrypted_and_their_list_always_does() -> None:
    image = f"{IMAGES}/a.mha"
    assert sealed_path_of(image) == SealedPath(image, f"data/{image}", is_secret=False)
    assert sealed_path_of(image, encrypts_images=True) == SealedPath(
        image, sealed_file(image), is_secret=True
    )
    for encrypts in (False, True):
        listed = sealed_path_of(IMAGE_LIST, encrypts_images=encrypts)
        assert listed == SealedPath(IMAGE_LIST, f"data/{IMAGE_LIST}", is_secret=False)
        table = sealed_path_of("nodules.parquet", encrypts_images=encrypts)
        assert table == SealedPath(
            "nodules.parquet", sealed_file("nodules.parquet"), is_secret=True
        )


@pytest.mark.parametrize(
    ("name", "compartment"),
    [
        ("nodules.parquet", "reference"),
        ("manifest.json", "reference"),
        ("provenance.json", "archive"),
        ("readings/a.csv", "archive"),
        ("readings/a.parquet", "archive"),
        (f"{RESULTS}/00000003.zip", "results"),
        (f"{IMAGES}/a.mha", "images"),
        (IMAGES, "archive"),
    ],
)
def test_every_file_has_a_compartment(name: str, compartment: str) -> None:
    assert compartment_of(name) == compartment


def test_names_have_the_number_of_their_event_in_eight_digits() -> None:
    assert event_file(7).endswith("/00000007.json")
    assert result_file(12) == f"{RESULTS}/00000012.zip.sealed"
    digest = f"sha256:{'0123456789abcdef' * 4}"
    assert change_file(digest).endswith(f"/{'0123456789abcdef' * 4}.json")
    assert change_stage(digest).endswith("/.0123456789abcdef.part")


def test_log_results_and_changes_grow_and_nothing_else() -> None:
    for name in (event_file(1), result_file(1), change_file("sha256:1")):
        assert grows(name)
    for name in ("manifest-sha256.txt", sealed_file("nodules.parquet"), "policy.toml"):
        assert not grows(name)


def test_only_what_is_in_the_folder_of_images_is_one() -> None:
    for name in (f"readings/{IMAGE_LIST}", f"readings/{IMAGES}"):
        assert sealed_path_of(name).is_secret
