"""Items of a report -> what they say: numbers in our units, coded values, observer and series."""

from collections.abc import Iterable
from typing import Any

from nodulebench.errors import InputError, Problem
from nodulebench.formats.dicom.codes import (
    CATEGORY,
    DEVICE_NAME,
    DEVICE_UID,
    FINDING,
    NUMBERS,
    PERSON_NAME,
    SAID,
    TYPES,
    UNIT_FACTORS,
)
from nodulebench.formats.dicom.header import CT_IMAGE_STORAGE
from nodulebench.formats.dicom.reports.reported import CasesAtHand
from nodulebench.formats.dicom.reports.sr_regions import Surroundings
from nodulebench.formats.dicom.reports.sr_tree import Item, referenced_series

TYPE_OF_CODE = {concept.key: name for name, concept in TYPES.items()}


def ct_series_of(reports: Iterable[Any]) -> set[str]:
    """The CT series that reports list as their evidence."""
    return {
        uid
        for report in reports
        for uid, images in referenced_series(report).items()
        if CT_IMAGE_STORAGE in images.values()
    }


def surroundings(name: str, data: Any, at_hand: CasesAtHand) -> tuple[str, Surroundings]:
    """The series that a report is about, and what is known of its images.

    Raises:
        InputError: if it names no CT series; one of several is found by the images drawn on.
    """
    evidence = referenced_series(data)
    about = [uid for uid, images in evidence.items() if CT_IMAGE_STORAGE in images.values()]
    if not about:
        raise InputError(
            Problem(
                name,
                "refers to no CT series: its evidence lists no CT image.",
                "Without it nobody knows which case it is about; export the report anew.",
            )
        )
    of_image = {image: uid for uid, images in evidence.items() for image in images}
    return about[0], Surroundings(name, of_image, at_hand.images)


def observer_of(tree: Item) -> str:
    """Who reports: a person's name, else a device's."""
    return (
        tree.text_of(PERSON_NAME).rstrip("^ ")
        or tree.text_of(DEVICE_NAME)
        or tree.text_of(DEVICE_UID)
    )


def numbers_of(item: Item) -> dict[str, float]:
    """The numbers that an item has, in our columns and units.

    Raises:
        InputError: if a unit is not known, or a number is none.
    """
    found = {}
    for child in item.of_kind("NUM"):
        column = NUMBERS.get(child.name)
        values = child.data.get("MeasuredValueSequence")
        if column is None or not values:
            continue
        units = values[0].get("MeasurementUnitsCodeSequence")
        unit = str(units[0].get("CodeValue", "")) if units else ""
        factors = UNIT_FACTORS[
            "mm3" if column.endswith("mm3") else "mm" if column.endswith("mm") else ""
        ]
        value = values[0].get("FloatingPointValue")
        number = float(values[0].get("NumericValue") if value is None else value)
        if unit not in factors or not abs(number) < float("inf"):
            raise InputError(
                Problem(
                    child.where,
                    f"{column} is {number:g} {unit}, which is not understood.",
                    f"Known units: {', '.join(filter(None, factors))}.",
                )
            )
        found[column] = number * factors[unit]
    return found


def said_of(item: Item) -> dict[str, str | int]:
    """What an item says by codes: type, density, category, characteristics."""
    found: dict[str, str | int] = {}
    for child in item.of_kind("CODE"):
        if child.name == CATEGORY.key:
            found["category"] = child.meaning
        elif child.name == FINDING.key and child.code in TYPE_OF_CODE:
            found["type"] = TYPE_OF_CODE[child.code]
        elif child.name in SAID:
            column, values = SAID[child.name]
            if child.code in values:
                found[column] = values[child.code]
    return found
