"""How a reader wants scans to be hung: read, and kept where their readings are."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field, FiniteFloat

from nodulebench.core.config_model import Written, checked
from nodulebench.io.durable import make_folder
from nodulebench.io.json_files import read_json, write_json
from nodulebench.web.viewer.routes.dependencies import GivenRoom

router = APIRouter()
HANGING = "hanging.json"
Zoom = Annotated[FiniteFloat, Field(gt=0, le=1000)]


class Window(Written):
    """Grey values in HU."""

    level: Annotated[FiniteFloat, Field(ge=-2000, le=4000)]
    width: Annotated[FiniteFloat, Field(ge=1, le=8000)]


class Zooms(Written):
    """How much larger than the whole picture each plane is shown."""

    axial: Zoom
    coronal: Zoom
    sagittal: Zoom


class Hanging(Written):
    """What every scan is opened with."""

    layout: Literal["three", "one", "prior"]
    preset: Literal["lung", "mediastinum", "bone", "own"]
    window: Window
    is_inverted: bool
    slab_mm: Literal[0, 5, 10, 20, 40]
    shows_cross: bool
    zoom: Zooms


@router.get("/hanging")
def hanging(room: GivenRoom) -> dict[str, Any] | None:
    """What the reader keeps; null: nothing yet."""
    path = room.folder / HANGING
    if not path.is_file():
        return None
    return checked(Hanging, read_json(path), str(path)).model_dump(mode="json")


@router.post("/hanging")
def kept(room: GivenRoom, wanted: Hanging) -> dict[str, bool]:
    """Keep it for every scan that is opened from now on."""
    make_folder(room.folder)
    write_json(wanted.model_dump(mode="json"), room.folder / HANGING)
    return {"is_kept": True}
