"""Patient and scanner -> a CT volume with its lungs and nodules known exactly."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import BoolArray
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.volume import Volume
from nodulebench.phantom import bones, vessels
from nodulebench.phantom.artefacts import blur_by_motion, draw_streaks
from nodulebench.phantom.bulges import BULGE_HU
from nodulebench.phantom.canvas import Canvas
from nodulebench.phantom.chest import heart_surface
from nodulebench.phantom.disease import draw_disease, random_disease
from nodulebench.phantom.nodule import Nodule, paint_nodule
from nodulebench.phantom.organs import draw_slice, empty_slice
from nodulebench.phantom.patient import BODY, DISEASE, NOISE, STREAKS, TEXTURE, Patient, stream
from nodulebench.phantom.scanner import Scanner, make_slices
from nodulebench.phantom.slice import (
    Bend,
    Enhancement,
    SliceGrid,
    make_plane,
    random_bend,
    random_enhancement,
    random_textures,
    surfaces_along,
)
from nodulebench.phantom.tubes import IN_LUNG, OUTSIDE_LUNG, Tubes, paint_in_lung, paint_tubes

OESOPHAGUS_HU = 38.0
OESOPHAGUS_FLATTENING = (0.8, 1.3, 1.0)
"""Empty, it is flat on the spine."""
SWALLOWED_AIR_HU = -800.0
LIVER_RANGE_HU = 12.0
NODE_HU = 38.0
VESSEL_COAT_HU, VESSEL_COAT_MM = -25.0, 1.0
"""Thin fat and wall between vessels that touch."""
PLAQUE_HU = 700.0
BRONCHUS_WALL_HU = -150.0
BRONCHUS_LUMEN_HU = -960.0
AIRWAY_WALL_HU = 30.0
AIRWAY_WALL_MM = 1.8
LUMEN_HU = -985.0
BELOW_MM, ABOVE_MM = 12.0, 22.0
"""How far a scan goes on below and above the lungs."""
RIGHT_LUNG, LEFT_LUNG = 1, 2


@dataclass(frozen=True)
class PhantomScan:
    """A scan and its truth, in world coordinates."""

    volume: Volume
    lungs: npt.NDArray[np.uint8]
    """0 outside, 1 right, 2 left lung, with its vessels and nodules, without central airways."""
    nodules: tuple[Nodule, ...]


def scan_patient(
    patient: Patient,
    scanner: Scanner,
    *,
    position_mm: npt.ArrayLike = (0.0, 0.0, 0.0),
    repeat: int = 0,
    slices: int | None = None,
) -> PhantomScan:
    """Make a CT scan; another ``repeat`` gives the same scan with other noise.

    Without ``slices`` there are as many as the lungs need.
    """
    position = np.asarray(position_mm, dtype=np.float64)
    canvas = _empty_canvas(patient, scanner, slices)
    body = stream(patient.seed, patient.number, BODY)
    bend = random_bend(body)
    enhancement = random_enhancement(patient.chest, body)
    inside = _draw_body(patient, canvas, scanner.parts_per_slice, bend, enhancement)
    _draw_between_lungs(patient, canvas, bend, enhancement, body)
    skeleton, flat = bones.build_skeleton(patient.chest), bones.RIB_FLATTENING
    paint_tubes(canvas, skeleton.cartilages, bones.CARTILAGE_HU, flattening=flat)
    long_bones = bend.bent(patient.chest, skeleton.long_bones)
    for bone, flattening in ((skeleton.ribs, flat), (long_bones, (1.0, 1.0, 1.0))):
        paint_tubes(canvas, bone, bones.CORTEX_HU, flattening=flattening)
        marrow = bone.thinner(bones.CORTEX_MM)
        paint_tubes(canvas, marrow, bones.MARROW_HU, flattening=flattening)
    if patient.bulges is not None:
        paint_tubes(canvas, patient.bulges, BULGE_HU, IN_LUNG)
    _draw_lung_tubes(patient, canvas)
    for nodule in patient.nodules:
        paint_nodule(canvas, nodule)
    if patient.condition is not None:
        if patient.condition.arm is not None:
            random = stream(patient.seed, patient.number * 1000 + repeat, STREAKS)
            draw_streaks(patient.chest, canvas, patient.condition.arm, random)
        blur_by_motion(patient.chest, canvas, patient.condition)
    noise = stream(patient.seed, patient.number * 1000 + repeat, NOISE)
    hu = make_slices(canvas, scanner, noise)
    middle = scanner.parts_per_slice // 2
    geometry = Geometry(
        spacing_mm=np.array([scanner.pixel_mm, scanner.pixel_mm, scanner.slice_spacing_mm]),
        origin_mm=position + np.array([canvas.x_mm[0], canvas.y_mm[0], canvas.z_mm[middle]]),
        direction=np.eye(3),
        size=np.array(hu.shape[::-1], dtype=np.int64),
    )
    lungs = _without_airways(patient, inside, canvas, middle, scanner.parts_per_slice)
    return PhantomScan(
        volume=Volume(hu, geometry),
        lungs=lungs,
        nodules=tuple(nodule.moved(position) for nodule in patient.nodules),
    )


def _empty_canvas(patient: Patient, scanner: Scanner, slices: int | None) -> Canvas:
    chest = patient.chest
    bottom, top = chest.lowest_z - BELOW_MM, chest.apex_z + ABOVE_MM
    count = slices or int(np.ceil((top - bottom) / scanner.slice_spacing_mm))
    parts = scanner.parts_per_slice
    step = scanner.slice_spacing_mm / parts
    offset = (np.arange(scanner.matrix) - (scanner.matrix - 1) / 2) * scanner.pixel_mm
    return Canvas(
        hu=np.empty((count * parts, scanner.matrix, scanner.matrix), dtype=np.float32),
        x_mm=offset,
        y_mm=offset + chest.center_y + 6.0,
        z_mm=bottom + np.arange(count * parts) * step,
    )


def _draw_body(
    patient: Patient, canvas: Canvas, parts: int, bend: Bend, enhancement: Enhancement
) -> BoolArray:
    """Draw all planes; return the inside of the pleura on the middle plane of each slice."""
    grid = SliceGrid(canvas.x_mm, canvas.y_mm)
    textures = random_textures(stream(patient.seed, patient.number, TEXTURE))
    inside = np.empty((len(canvas.z_mm) // parts, *canvas.hu.shape[1:]), dtype=np.bool_)
    empty = empty_slice(patient.chest, grid)
    heights = surfaces_along(patient.chest, bend, grid.x, grid.y, canvas.z_mm)
    condition = patient.condition
    disease = random_disease(stream(patient.seed, patient.number, DISEASE)) if condition else None
    for number, surfaces in enumerate(heights):
        canvas.hu[number] = empty
        z = float(canvas.z_mm[number])
        plane = make_plane(canvas.hu[number], surfaces, textures, grid, z)
        draw_slice(patient.chest, plane, enhancement)
        if condition and disease:
            draw_disease(patient.chest, plane, condition, disease)
        if number % parts == parts // 2:
            inside[number // parts] = surfaces.pleura < 0
    return inside


def _draw_between_lungs(
    patient: Patient,
    canvas: Canvas,
    bend: Bend,
    enhancement: Enhancement,
    random: np.random.Generator,
) -> None:
    chest = patient.chest
    great = vessels.great_vessels(chest)
    aorta = bend.bent(chest, great.aorta)
    gullet = bend.bent(chest, vessels.oesophagus(chest))
    paint_tubes(canvas, vessels.lymph_nodes(chest, random), NODE_HU, OUTSIDE_LUNG)
    paint_tubes(canvas, great.left_atrium, enhancement.lung_vessels, IN_LUNG)
    paint_tubes(canvas, bend.bent(chest, great.lower_veins), enhancement.late_veins)
    for tubes, hu in (
        (bend.bent(chest, great.upper_veins), enhancement.upper_cava),
        (bend.bent(chest, great.pulmonary), enhancement.lung_vessels),
        (bend.bent(chest, great.neck_arteries), enhancement.left_heart),
    ):
        _paint_coat(patient, canvas, tubes)
        paint_tubes(canvas, tubes, hu)
    _paint_coat(patient, canvas, aorta)
    for tubes, hu in (
        (aorta, enhancement.left_heart),
        (vessels.azygos(chest), enhancement.late_veins),
        (vessels.mammary_vessels(chest), enhancement.left_heart),
        (vessels.arm_vessels(chest), enhancement.left_heart),
        (vessels.plaques(aorta, random), PLAQUE_HU),
        (vessels.thyroid(chest), enhancement.thyroid),
    ):
        paint_tubes(canvas, tubes, hu, OUTSIDE_LUNG)
    liver = enhancement.liver - LIVER_RANGE_HU, enhancement.liver + LIVER_RANGE_HU
    branches = vessels.liver_vessels(chest, random)
    paint_tubes(canvas, branches, enhancement.liver_vessels, liver)
    paint_tubes(canvas, gullet, OESOPHAGUS_HU, OUTSIDE_LUNG, flattening=OESOPHAGUS_FLATTENING)
    air = vessels.swallowed_air(gullet, random)
    paint_tubes(canvas, air, SWALLOWED_AIR_HU, OUTSIDE_LUNG)


def _paint_coat(patient: Patient, canvas: Canvas, tubes: Tubes) -> None:
    """Draw the thin layer that parts a vessel from its neighbours; in the heart there is none."""
    outside_heart = tubes.chosen(heart_surface(patient.chest, *tubes.end.T) > 0)
    paint_tubes(canvas, outside_heart.thinner(-VESSEL_COAT_MM), VESSEL_COAT_HU, OUTSIDE_LUNG)


def _draw_lung_tubes(patient: Patient, canvas: Canvas) -> None:
    chest, tubes = patient.chest, patient.tubes
    is_even = patient.condition is None
    for drawn, hu in (
        (tubes.vessels, chest.blood_hu),
        (tubes.twigs, chest.blood_hu),
        (tubes.bronchi, BRONCHUS_WALL_HU),
    ):
        paint_in_lung(canvas, drawn, hu, chest.parenchyma_hu, is_even=is_even)
    paint_tubes(canvas, tubes.lumens, BRONCHUS_LUMEN_HU)
    paint_tubes(canvas, tubes.central_airways.thinner(-AIRWAY_WALL_MM), AIRWAY_WALL_HU)
    paint_tubes(canvas, tubes.central_airways, LUMEN_HU)


def _without_airways(
    patient: Patient, inside: BoolArray, canvas: Canvas, middle: int, parts: int
) -> npt.NDArray[np.uint8]:
    empty = np.zeros(inside.shape, dtype=np.float32)
    airways = Canvas(empty, canvas.x_mm, canvas.y_mm, canvas.z_mm[middle::parts])
    paint_tubes(airways, patient.tubes.central_airways.thinner(-AIRWAY_WALL_MM), 1.0)
    if patient.bulges is not None:
        paint_tubes(airways, patient.bulges, 1.0)
    is_lung = inside & (airways.hu < 0.5)
    side = np.where(canvas.x_mm < 3.0, RIGHT_LUNG, LEFT_LUNG).astype(np.uint8)
    return is_lung * side
