"""Read report items: numbers in our units, coded values, observer and series."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nodulebench.core.errors import InputError
from nodulebench.io.dicom import codes
from nodulebench.io.dicom.files import floats_of, item_of, text_of
from nodulebench.io.dicom.findings import CaseMatcher
from nodulebench.io.dicom.slices import CT_CLASSES
from nodulebench.io.dicom.sr_content import Item, Surroundings, referenced_series

if TYPE_CHECKING:
    from pydicom import Dataset

TYPE_OF_CODE = {concept.key: name for name, concept in codes.TYPES.items()}


def ct_series_of(reports: Iterable["Dataset"]) -> set[str]:
    return {
        uid
        for report in reports
        for uid, images in referenced_series(report).items()
        if not CT_CLASSES.isdisjoint(images.values())
    }


def surroundings(name: str, data: "Dataset", at_hand: CaseMatcher) -> tuple[str, Surroundings]:
    evidence = referenced_series(data)
    about = [uid for uid, images in evidence.items() if not CT_CLASSES.isdisjoint(images.values())]
    if not about:
        what = "refers to no CT series: its evidence lists no CT image."
        raise InputError.at(name, what, "Without it the case is unknown; export the report again.")
    of_image = {image: uid for uid, images in evidence.items() for image in images}
    return about[0], Surroundings(name, of_image, at_hand.images)


def observer_of(tree: Item) -> str:
    return (
        tree.text_of(codes.PERSON_NAME).rstrip("^ ")
        or tree.text_of(codes.DEVICE_NAME)
        or tree.text_of(codes.DEVICE_UID)
    )


def numbers_of(item: Item) -> dict[str, float]:
    values = {}
    for child in item.of_kind("NUM"):
        column = codes.NUMBERS.get(child.name)
        measured = item_of(child.data, "MeasuredValueSequence")
        if column is None or measured is None:
            continue
        unit = text_of(item_of(measured, "MeasurementUnitsCodeSequence"), "CodeValue")
        factors = codes.UNIT_FACTORS[
            "mm3" if column.endswith("mm3") else "mm" if column.endswith("mm") else ""
        ]
        number = measured_number(measured)
        if unit not in factors or not abs(number) < float("inf"):
            what = f"{column} is {number:g} {unit}, which cannot be converted."
            remedy = f"Known units: {', '.join(filter(None, factors))}."
            raise InputError.at(child.where, what, remedy)
        values[column] = number * factors[unit]
    return values


def measured_number(measured: "Dataset") -> float:
    """The number of a measured value, the more exact of two; NaN if there is none."""
    exact = floats_of(measured, "FloatingPointValue")
    values = exact or floats_of(measured, "NumericValue")
    return values[0] if values else float("nan")


def stated_type(item: Item) -> dict[str, str | int]:
    labels: dict[str, str | int] = {}
    for child in item.of_kind("CODE"):
        if child.name == codes.CATEGORY.key:
            labels["category"] = child.meaning
        elif child.name == codes.FINDING.key and child.code in TYPE_OF_CODE:
            labels["type"] = TYPE_OF_CODE[child.code]
        elif child.name in codes.TYPE_TEXTS:
            column, values = codes.TYPE_TEXTS[child.name]
            if child.code in values:
                labels[column] = values[child.code]
    return labels
