"""Another machine is spoken to with certificates only."""

from pathlib import Path

import pytest

from nodulebench.core.errors import InputError
from nodulebench.core.executor import ExecutorChoice
from nodulebench.core.executors.dask import address_of


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    made = {name: tmp_path / f"{name}.pem" for name in ("tls_ca", "tls_cert", "tls_key")}
    for path in made.values():
        path.write_text("x")
    return made


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dask://127.0.0.1:9000", "tcp://127.0.0.1:9000"),
        ("dask://localhost", "tcp://localhost:8786"),
        ("dask://127.8.8.8:1", "tcp://127.8.8.8:1"),
        ("dask://[::1]:9000", "tcp://[::1]:9000"),
    ],
)
def test_this_machine_needs_no_certificates(name: str, text: str) -> None:
    address = address_of(ExecutorChoice(name))
    assert (address.text, address.certificates) == (text, None)


@pytest.mark.parametrize(
    "host", ["10.0.0.1", "10.127.0.1", "node7", "localhost.example", "[fe80::1]", "128.0.0.1"]
)
def test_any_other_machine_needs_them(host: str, files: dict[str, Path]) -> None:
    with pytest.raises(InputError, match=r"another machine.*certificates.*--tls-ca, --tls-cert"):
        address_of(ExecutorChoice(f"dask://{host}:8786"))
    address = address_of(ExecutorChoice(f"dask://{host}:8786", **files))
    assert address.text == f"tls://{host}:8786"
    assert address.certificates is not None
    assert address.certificates.key == files["tls_key"]


def test_certificates_are_used_on_this_machine_too(files: dict[str, Path]) -> None:
    assert address_of(ExecutorChoice("dask://localhost:1", **files)).text == "tls://localhost:1"


def test_what_is_missing_of_them_is_named(files: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        address_of(
            ExecutorChoice("dask://node:1", tls_ca=files["tls_ca"], tls_cert=tmp_path / "none.pem")
        )
    text = str(caught.value)
    assert "--tls-cert" in text
    assert "none.pem is not a file" in text
    assert "--tls-key: is missing" in text
    assert "--tls-ca" not in text


@pytest.mark.parametrize("name", ["dask://", "dask://host:port", "dask://h:1/x", "dask://h:1?a=b"])
def test_what_is_not_an_address_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"names no scheduler. Write dask://HOST:PORT"):
        address_of(ExecutorChoice(name))
