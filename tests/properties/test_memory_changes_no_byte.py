"""Whatever slices come in whatever order, what is written is the same with memory and without."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

pydicom = pytest.importorskip("pydicom")

from builders.identified_slice import identified_slice, write_slice
from nodulebench.curation.deidentify.codec import Memory
from nodulebench.curation.deidentify.identity import Pseudonyms
from nodulebench.curation.deidentify.service import deidentify_file

WORDS = ("Siemens", "Quentin", "Long", "小明", "B30f", "Sensation", "")
CHANGES = st.fixed_dictionaries(
    {
        "PatientID": st.sampled_from(["A-1234", "B-5678", ""]),
        "PatientName": st.sampled_from(["Siemens^Ann", "Long^Bo", "Wang=小明", ""]),
        "StudyDate": st.sampled_from(["20210317", "20210318", "", "2021"]),
        "PatientAge": st.sampled_from(["093Y", "063Y", "3"]),
    },
    optional={
        "SpecificCharacterSet": st.sampled_from(["ISO_IR 192", "GB18030"]),
        "ConvolutionKernel": st.sampled_from(WORDS),
        "ManufacturerModelName": st.sampled_from(WORDS),
        "SeriesDescription": st.sampled_from(["CHEST LONG", "Lung 1.5 mm Quentin"]),
        "CodingSchemeDesignator": st.sampled_from(["DCM", "99MERCYFIELD"]),
        "CodeMeaning": st.just("Localizer"),
        "PixelRepresentation": st.sampled_from([0, 1]),
        "SmallestImagePixelValue": st.sampled_from([0, 7]),
        "ImagePositionPatient": st.sampled_from([["0", "0", "1"], ["0", "0", "2"]]),
    },
)
SYNTAXES = ("1.2.840.10008.1.2", "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.1.99")


PLAIN = {
    "PatientID": "A-1234",
    "PatientName": "Siemens^Ann",
    "StudyDate": "20210317",
    "PatientAge": "093Y",
}


@settings(max_examples=25, deadline=None)
@example([(PLAIN, SYNTAXES[0])] * 3)
@given(st.lists(st.tuples(CHANGES, st.sampled_from(SYNTAXES)), min_size=2, max_size=5))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_memory_changes_no_byte(slices: list[tuple[dict[str, object], str]]) -> None:
    memory = Memory()
    with TemporaryDirectory() as name:
        folder = Path(name)
        for number, (changes, syntax) in enumerate(slices):
            data = identified_slice(number)
            data.file_meta.TransferSyntaxUID = pydicom.uid.UID(syntax)
            for keyword, value in changes.items():
                setattr(data, keyword, value)
            path = write_slice(data, folder / "in" / f"{number}.dcm")
            message = []
            for known in (memory, None):
                out = folder / ("with" if known else "without")
                outcome = deidentify_file(path, out, Pseudonyms(bytes(32)), memory=known)
                content = (out / outcome.written).read_bytes() if outcome.written else b""
                message.append((outcome, content))
            assert message[0] == message[1]
