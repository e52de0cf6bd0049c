import pytest

from nodulebench.core.algorithm import AlgorithmManifest, NoduleType, parse_manifest
from nodulebench.core.errors import InputError
from nodulebench.core.tables import NODULE_TYPES


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
def test_what_is_wrong_is_reported_by_field(text: str, message: str) -> None:
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


RUN = """
name = "my-cad"
threshold = 0.5
[run]
command = ["./run.sh"]
profile = "grand-challenge"
mode = "invoke"
model = "weights/"
[run.resources]
memory_gb = 8
timeout_s = 30
[[run.inputs]]
slug = "chest-ct"
path = "images/chest-ct"
from = "ct"
format = "mha"
[[run.outputs]]
path = "nodule-locations.json"
adapter = "gc-points"
"""


def test_how_an_algorithm_is_run_is_in_its_manifest() -> None:
    run = parse_manifest(RUN, "algorithm.toml").run
    assert run is not None
    assert (run.command, run.profile, run.mode) == (("./run.sh",), "grand-challenge", "invoke")
    assert (run.resources.memory_gb, run.resources.timeout_s, run.resources.cpus) == (8, 30, 2)
    assert (run.inputs[0].slug, run.inputs[0].source) == ("chest-ct", "ct")
    assert run.outputs[0].adapter == "gc-points"


def test_a_submission_says_nothing_of_how_it_was_run() -> None:
    manifest = parse_manifest(RUN, "algorithm.toml")
    assert parse_manifest(manifest.to_toml(), "a.toml").run is None
    assert manifest.facts == {"threshold": "0.5"}


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ("memory_gb", "memory_go", r"'run\.resources\.memory_go': is unknown\. Did you mean 'memo"),
        ('from = "ct"', 'fron = "ct"', r"'run\.inputs\.0\.fron': is unknown\. Did you mean 'from"),
        ("[run.resources]", "[run.resource]", r"'run\.resource': is unknown\. Did you mean 'reso"),
        ('["./run.sh"]', "[]", r"field 'run': needs either a command or an image"),
        ("weights/", "../weights", r"'run\.model': '\.\./weights' does not lie within the folder"),
        ("weights/", "/etc", r"'/etc' does not lie within the folder"),
        ('"grand-challenge"', '"native"', r"inputs are for the profile 'grand-challenge'"),
        ('"grand-challenge"', '"medperf"', r"'medperf' knows no mode 'invoke'"),
        ("timeout_s = 30", "timeout_s = 0", r"'run\.resources\.timeout_s': Input should be great"),
        ("threshold = 0.5", 'threshold = "high"', r"field 'threshold': Input should be a valid"),
    ],
)
def test_what_is_wrong_with_a_run_is_reported_by_field(
    written: str, instead: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        parse_manifest(RUN.replace(written, instead), "a.toml")
