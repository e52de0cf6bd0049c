import json

import pytest

from nodulebench.core.config_model import parse_config
from nodulebench.core.documents.records import as_json
from nodulebench.core.errors import InputError, UnknownNameError
from nodulebench.core.protocol import (
    PROTOCOL_NAMES,
    TestProtocol,
    load_protocol,
)

SMALL = 'name = "own"\nmetrics = ["recall"]\n[[rules]]\nname = "luna16"\n'


def test_every_published_protocol_loads_under_its_name() -> None:
    assert [load_protocol(name).name for name in PROTOCOL_NAMES] == list(PROTOCOL_NAMES)


def test_digests_differ_between_protocols_and_are_stable() -> None:
    digests = {load_protocol(name).digest for name in PROTOCOL_NAMES}
    assert len(digests) == len(PROTOCOL_NAMES)
    assert load_protocol("luna16").digest in digests


def test_the_digest_covers_values_but_not_the_title() -> None:
    own = parse_config(TestProtocol, SMALL, "own.toml")
    assert own.digest == parse_config(TestProtocol, 'title = "x"\n' + SMALL, "own.toml").digest
    assert own.digest != parse_config(TestProtocol, "seed = 1\n" + SMALL, "own.toml").digest


def test_a_misspelt_field_is_an_error_that_names_it() -> None:
    message = r"own.toml field 'mark_kap': is unknown\. Did you mean 'mark_cap'\?"
    with pytest.raises(InputError, match=message):
        parse_config(TestProtocol, "mark_kap = 100\n" + SMALL, "own.toml")


def test_all_wrong_fields_are_reported_at_once() -> None:
    with pytest.raises(InputError) as caught:
        parse_config(TestProtocol, 'mark_cap = 0\nties = "maybe"\n' + SMALL, "own.toml")
    assert len(caught.value.problems) == 2


def test_broken_toml_is_an_error_that_names_the_file() -> None:
    with pytest.raises(InputError, match=r"own.toml: is not valid TOML"):
        parse_config(TestProtocol, "name = ", "own.toml")


def test_the_luna16_bootstrap_needs_the_luna16_reading() -> None:
    text = SMALL + '[interval]\nmethod = "luna16"\nunit = "case"\n'
    with pytest.raises(InputError, match='goes with interpolation "luna16"'):
        parse_config(TestProtocol, text, "own.toml")


def test_an_unknown_protocol_suggests_a_near_one() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'luna16'"):
        load_protocol("luna61")


def test_a_protocol_can_come_from_a_file(tmp_path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(SMALL)
    assert load_protocol(str(path)).name == "own"


def test_a_missing_protocol_file_is_named(tmp_path) -> None:
    with pytest.raises(InputError, match=r"none.toml: cannot be read as text"):
        load_protocol(str(tmp_path / "none.toml"))


def test_a_protocol_survives_json_with_its_digest() -> None:
    text = SMALL + "parameters = { most_mm = inf, least = 1, size = 1.0, way = true }\n"
    text += "[size_limit]\nminimum_mm = 4\nsweep_mm = [0, 1, inf]\n"
    for protocol in (
        parse_config(TestProtocol, text, "own.toml"),
        *map(load_protocol, PROTOCOL_NAMES),
    ):
        written = json.dumps(as_json(protocol.model_dump()), allow_nan=False)
        again = TestProtocol.model_validate(json.loads(written))
        assert again == protocol
        assert json.dumps(as_json(again.model_dump()), allow_nan=False) == written
        assert again.digest == protocol.digest
