"""The image of a case -> what an algorithm finds of it in ``/input``, by the layout it knows.

Names, UIDs and headers are new: nothing is left of the case but its voxels and where they lie.
"""

import json
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nodulebench.core.algorithm import InputFormat, RunContract, RunProfile
from nodulebench.core.json_types import JsonObject
from nodulebench.imaging.volume import Volume
from nodulebench.io.images import metaimage, nifti

CASE_FILE = "case.json"


@dataclass(frozen=True, slots=True)
class Profile:
    """Where an algorithm looks for its case and writes what it found."""

    input: str
    output: str
    arguments: tuple[str, ...] = ()
    """What follows its command."""
    environment: dict[str, str] = field(default_factory=dict)


_HOLOSCAN = ("/var/holoscan/input", "/var/holoscan/output")
PROFILES: dict[RunProfile, Profile] = {
    "native": Profile("/input", "/output", ("/input", "/output")),
    "grand-challenge": Profile("/input", "/output"),
    "medperf": Profile("/mlcommons/volumes/data", "/mlcommons/volumes/predictions"),
    "map": Profile(
        *_HOLOSCAN,
        environment={
            "HOLOSCAN_INPUT_PATH": f"{_HOLOSCAN[0]}/",
            "HOLOSCAN_OUTPUT_PATH": f"{_HOLOSCAN[1]}/",
        },
    ),
}


def write_case(volume: Volume, name: str, folder: Path, run: RunContract) -> None:
    """Write a case into an empty folder, for everybody to read.

    Args:
        volume: its image.
        name: what it is called here; nobody can tell the case from it.
        folder: what the algorithm finds as its input.
        run: which layout it wants.
    """
    if run.profile == "grand-challenge":
        _write_sockets(volume, name, folder, run)
    else:
        image = write_image(volume, name, folder / "ct", run.input)
        if run.profile == "native":
            _write_json(_described(volume, name, image.name), folder / CASE_FILE)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    folder.chmod(0o755)


def write_image(volume: Volume, name: str, place: Path, kind: InputFormat) -> Path:
    """Write an image in one of three forms; its file or folder.

    Args:
        volume: the image.
        name: what the case is called, which UIDs are made of.
        place: where it goes, without the ending of its form.
        kind: the form.
    """
    if kind == "dicom":
        _write_dicom(volume, name, place)
        return place
    if kind == "nifti":
        path = place.with_name(f"{place.name}.nii.gz")
        nifti.write_volume(volume, path)
        return path
    path = place.with_name(f"{place.name}.mhd")
    _write_metaimage(volume, path)
    return path


def _write_metaimage(volume: Volume, path: Path) -> None:
    """Write it at once: nobody looks for it before it is whole."""
    for name, content in metaimage.volume_files(volume, path.name, is_compressed=False).items():
        path.with_name(name).write_bytes(content)


def _write_dicom(volume: Volume, name: str, folder: Path) -> None:
    from nodulebench.io.dicom import volumes as dicom_volume
    from nodulebench.io.dicom.header import SeriesHeader, uid_from

    header = SeriesHeader(
        uid_from(name, "series"),
        uid_from(name, "study"),
        uid_from(name, "frame"),
        name,
        slice_thickness_mm=float(volume.geometry.spacing_mm[2]),
        rescale_intercept=0,
    )
    dicom_volume.write_volume(volume, folder, header)


def _described(volume: Volume, name: str, image: str) -> JsonObject:
    geometry = volume.geometry
    return {
        "case_id": name,
        "image": image,
        "size": [int(one) for one in volume.shape[::-1]],
        "spacing_mm": geometry.spacing_mm.tolist(),
        "origin_mm": geometry.origin_mm.tolist(),
        "direction": geometry.direction.ravel().tolist(),
    }


def _write_sockets(volume: Volume, name: str, folder: Path, run: RunContract) -> None:
    """Images by their slugs, and ``inputs.json``, as grand-challenge.org lays them out."""
    listed = []
    for input_ in run.inputs:
        key = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{name} {input_.slug}"))
        place = folder / input_.path
        place.mkdir(parents=True, exist_ok=True)
        _write_metaimage(volume, place / f"{key}.mha")
        interface = {
            "title": input_.slug.replace("-", " ").capitalize(),
            "description": "",
            "slug": input_.slug,
            "kind": "Image",
            "pk": 1,
            "default_value": None,
            "super_kind": "Image",
            "relative_path": input_.path,
            "overlay_segments": [],
            "look_up_table": None,
        }
        listed.append(
            {
                "interface": interface,
                "value": None,
                "file": None,
                "image": {"pk": key, "name": f"{key}.mha"},
                "pk": 1,
            }
        )
    _write_json(listed, folder / "inputs.json")


def _write_json(content: Any, path: Path) -> None:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
