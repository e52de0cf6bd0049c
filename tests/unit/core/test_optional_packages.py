"""A package that is not installed is named with the command that adds it."""

import pytest

from builders.hidden_packages import hide_package
from nodulebench.core.errors import InputError
from nodulebench.core.optional_packages import needs


def test_a_missing_package_is_named_with_its_extra() -> None:
    with (
        pytest.raises(
            InputError,
            match=r"^DICOM: needs no_such, which is not installed\. "
            r"pip install 'nodulebench\[images\]'$",
        ),
        needs("images", "DICOM"),
    ):
        import no_such.part  # noqa: F401


def test_a_missing_part_of_an_installed_package_names_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hide_package(monkeypatch, "pydicom")
    with pytest.raises(InputError, match="needs pydicom"), needs("images", "DICOM"):
        from pydicom.sr import coding  # noqa: F401


def test_what_is_installed_is_imported_as_ever() -> None:
    with needs("images", "DICOM"):
        import pydicom
    assert pydicom.__name__ == "pydicom"


def test_other_errors_pass_through() -> None:
    with pytest.raises(ZeroDivisionError), needs("images", "DICOM"):
        raise ZeroDivisionError
