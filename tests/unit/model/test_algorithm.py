import pytest

from nodulebench.errors import InputError
from nodulebench.model.algorithm import AlgorithmManifest, NoduleType, parse_manifest
from nodulebench.model.tables import NODULE_TYPES


def test_only_the_name_is_needed() -> None:
    manifest = parse_manifest('name = "x"', "algorithm.toml")
    assert (manifest.name, manifest.intended_types, manifest.facts) == ("x", (), {})


def test_the_types_are_those_of_the_tables() -> None:
    assert NoduleType.__args__ == NODULE_TYPES


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('nam = "x"', r"field 'name': Field required"),
        ('name = "x"\ncolour = 1', r"field 'colour': is unknown\. Known: name, version, "),
        ('name = "x"\nkind = "4-D"', r"field 'kind': Input should be '2-D', '3-D' or ''"),
        (
            'name = "x"\nintended_types = ["round"]',
            r"field 'intended_types\.0': Input should be 's",
        ),
        ('name = ""', r"field 'name': String should have at least 1 character"),
        ("name", r"a\.toml: is not valid TOML"),
    ],
)
def test_what_is_wrong_is_told_by_field(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_manifest(text, "a.toml")


def test_what_is_written_is_read_again() -> None:
    manifest = AlgorithmManifest(
        name='Ünïcode "quoted" \\ back\nnew\x7f',
        kind="3-D",
        intended_types=("solid", "calcified"),
        threshold=0.25,
    )
    assert parse_manifest(manifest.to_toml(), "a.toml") == manifest
