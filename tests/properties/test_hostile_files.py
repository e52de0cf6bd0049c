"""Whatever stands in a file, the answer is marks or an InputError, never another exception."""

import copy
import json
import pickle
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodulebench.core.errors import InputError
from nodulebench.core.tables import CASES
from nodulebench.io.formats import FORMATS, read_reference, read_submission

EXAMPLES = 40
CORNERS = [[0, 0, -80], [4, 0, -80], [4, 4, -80], [0, 4, -80]]
DOCUMENTS = {
    "points": (
        "grand_challenge_json",
        [
            {
                "case_id": "a",
                "type": "Multiple points",
                "points": [{"name": "n", "point": [1, 2, 3], "probability": 0.5}],
            }
        ],
    ),
    "boxes": (
        "grand_challenge_json",
        {
            "case_id": "a",
            "type": "Multiple 2D bounding boxes",
            "boxes": [{"corners": CORNERS, "probability": 0.5}],
        },
    ),
    "monai": (
        "monai_json",
        {
            "coordinates": "LPS",
            "box_mode": "xyzxyz",
            "validation": [
                {"image": "a.mhd", "box": [[1, 2, 3, 4, 5, 6]], "label": [0], "score": [0.5]}
            ],
        },
    ),
    "coco": (
        "coco3d_json",
        {
            "info": {"coordinates": "voxel"},
            "images": [{"id": 1, "case_id": "a"}],
            "categories": [{"id": 1, "name": "solid"}],
            "annotations": [
                {
                    "id": 1,
                    "image_id": 1,
                    "category_id": 1,
                    "bbox": [1, 2, 3, 4, 5, 6],
                    "score": 0.5,
                    "ignore": 0,
                }
            ],
        },
    ),
}
JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(["a", "solid", "Multiple points", "RAS", "lps_mm", 1e308, -1e308]),
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


CASES_A = CASES.conform(
    pl.DataFrame([{"case_id": "a"}]).with_columns(
        *(pl.lit(100).alias(f"size_{axis}") for axis in "xyz"),
        *(pl.lit(1.0).alias(f"spacing_{axis}_mm") for axis in "xyz"),
        *(pl.lit(-100.0).alias(f"origin_{axis}_mm") for axis in "xyz"),
    ),
    "cases",
)


def places(value: Any, path: tuple = ()) -> Iterator[tuple]:
    """The way to every value inside a document."""
    yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in inner:
        yield from places(item, (*path, key))


def with_junk(document: Any, path: tuple, junk: Any) -> Any:
    if not path:
        return junk
    changed = copy.deepcopy(document)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = junk
    return changed


def answers(path: Path, format_name: str | None) -> None:
    """Reading ends in tables or in an InputError; anything else fails the test."""
    for read in (read_submission, read_reference):
        form = FORMATS[format_name] if format_name else None
        if form and (form.read_marks if read is read_submission else form.read_reference) is None:
            continue
        with suppress(InputError):
            read(path, CASES_A, format_name)


@pytest.mark.parametrize("name", DOCUMENTS)
@given(data=st.data())
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_junk_anywhere_in_a_document_gets_an_answer(
    name: str, tmp_path: Path, data: st.DataObject
) -> None:
    format_name, document = DOCUMENTS[name]
    path = data.draw(st.sampled_from(list(places(document))))
    bent = with_junk(document, path, data.draw(JUNK))
    file = tmp_path / "x.json"
    file.write_text(json.dumps(bent))
    answers(file, format_name)
    answers(file, None)


CSVS = (
    b"seriesuid,coordX,coordY,coordZ,probability\na,1,2,3,0.5\na,4,5,6,0.25\n",
    b"case_id,nodule_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm,type,score\n"
    b"a,n,10,-90,1,1,4,4,solid,0.5\na,n,11,-89,1,1,4,4,solid,0.25\n",
    b"case_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm\na,10,-90,1,1,4,4\n",
)


@given(
    st.sampled_from(CSVS),
    st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=3)), min_size=1, max_size=6),
    st.booleans(),
)
@settings(
    max_examples=2 * EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_damage_to_a_csv_file_gets_an_answer(
    tmp_path: Path, whole: bytes, damage: list[tuple[float, bytes]], is_cut: bool
) -> None:
    bent = bytearray(whole)
    for where, junk in damage:
        place = int(where * len(bent))
        bent[place : place + len(junk)] = junk
    file = tmp_path / "x.csv"
    file.write_bytes(bytes(bent[: len(bent) * 3 // 4]) if is_cut else bytes(bent))
    answers(file, None)
    answers(file, "luna16_csv" if whole is CSVS[0] else "nifdc_csv")


@given(
    st.dictionaries(
        st.sampled_from(["pred_boxes", "pred_scores", "restore", "itk_spacing", "itk_origin"]), JUNK
    )
)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_junk_in_a_pickle_gets_an_answer(tmp_path: Path, junk: dict) -> None:
    content = {"pred_boxes": np.zeros((1, 6)), "pred_scores": np.zeros(1), "restore": True} | junk
    folder = tmp_path / "model"
    folder.mkdir(exist_ok=True)
    for case_id in ("a", "z"):
        (folder / f"{case_id}_boxes.pkl").write_bytes(pickle.dumps(content))
    answers(folder, "nndetection")
