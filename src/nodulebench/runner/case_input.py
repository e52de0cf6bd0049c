"""Write the image of a case into ``/input`` of an algorithm, in the layout of its profile.

Names, UIDs and headers are new: only the voxels and their geometry are those of the case.
"""

import json
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from nodulebench.core.algorithm import InputFormat, RunContract, RunProfile
from nodulebench.core.json_types import JsonObject
from nodulebench.imaging.volume import Volume
from nodulebench.io.images import metaimage, nifti

CASE_FILE = "case.json"


@dataclass(frozen=True, slots=True)
class Profile:
    """Where an algorithm reads its case and writes its marks."""

    input: str
    output: str
    arguments: tuple[str, ...] = ()
    """Arguments after its command."""
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
    """Write a case into an empty folder, readable by all users."""
    if run.profile == "grand-challenge":
        _write_sockets(volume, name, folder, run)
    else:
        image = write_image(volume, name, folder / "ct", run.input)
        if run.profile == "native":
            _write_json(_described(volume, name, image.name), folder / CASE_FILE)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    folder.chmod(0o755)


def write_image(volume: Volume, name: str, stem: Path, kind: InputFormat) -> Path:
    """Write an image in one of three formats; return its file or folder."""
    if kind == "dicom":
        _write_dicom(volume, name, stem)
        return stem
    if kind == "nifti":
        path = stem.with_name(f"{stem.name}.nii.gz")
        nifti.write_volume(volume, path)
        return path
    path = stem.with_name(f"{stem.name}.mhd")
    _write_metaimage(volume, path)
    return path


def _write_metaimage(volume: Volume, path: Path) -> None:
    """Write it directly: no other process reads it before it is complete."""
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
        "size": [int(count) for count in volume.shape[::-1]],
        "spacing_mm": geometry.spacing_mm.tolist(),
        "origin_mm": geometry.origin_mm.tolist(),
        "direction": geometry.direction.ravel().tolist(),
    }


def _write_sockets(volume: Volume, name: str, folder: Path, run: RunContract) -> None:
    """Write images by their slugs, and ``inputs.json``, in the layout of grand-challenge.org."""
    listed = []
    for input_ in run.inputs:
        key = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{name} {input_.slug}"))
        socket = folder / input_.path
        socket.mkdir(parents=True, exist_ok=True)
        _write_metaimage(volume, socket / f"{key}.mha")
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


def _write_json(content: object, path: Path) -> None:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
