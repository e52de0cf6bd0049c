"""Numbers of a header -> whether they can be what their attribute says: a number can be a name too.

A patient's number fits into any attribute that takes a number. So a number stays only where its
attribute is listed here, within what a CT scanner can mean by it.
"""

import re
from collections.abc import Collection, Iterable
from typing import Any

KINDS = frozenset({"DS", "FD", "FL", "IS", "SL", "SS", "SV", "UL", "US", "UV"})
"""Value representations of numbers."""

_LIMITS: dict[tuple[float, float], str] = {
    # counts of what a scan has; a hospital's numbers are longer
    (0, 9999): """
        AcquisitionNumber DimensionIndexValues FrameAcquisitionNumber ImagesInAcquisition
        InConcatenationNumber InConcatenationTotalNumber InStackPositionNumber InstanceNumber
        NumberOfFrames ReferencedFrameNumber SeriesNumber TemporalPositionIndex
    """,
    # millimetres, degrees and directions
    (-4000, 4000): """
        DataCollectionCenterPatient DataCollectionDiameter DistanceSourceToDataCollectionCenter
        DistanceSourceToDetector DistanceSourceToPatient GantryDetectorTilt ImageOrientationPatient
        ImagePositionPatient PixelSpacing ReconstructionDiameter ReconstructionFieldOfView
        ReconstructionPixelSpacing ReconstructionTargetCenterPatient ScanLength
        SingleCollimationWidth SliceLocation SliceThickness SpacingBetweenSlices
        TableFeedPerRotation TableHeight TableMotion TablePosition TableSpeed TablePitch
        TotalCollimationWidth
        RevolutionTime SpiralPitchFactor FocalSpots ReconstructionAngle TableTravel
        TableVerticalIncrement TableLongitudinalIncrement
    """,
    # the tube: kilovolts, milliampere, milliseconds, what is made of them
    (0, 1000): """
        KVP XRayTubeCurrentInmA CTDIvol EstimatedDoseSaving ContrastBolusVolume
        ContrastBolusTotalDose ContrastFlowRate ContrastFlowDuration
    """,
    (0, 2000): "XRayTubeCurrent",
    (0, 99_999): "Exposure ExposureInmAs ExposureTime ExposureTimeInms",
    (0, 100): "ContrastBolusIngredientConcentration WaterEquivalentDiameter AcquisitionDuration",
    # the picture
    (-70_000, 70_000): """
        LargestImagePixelValue LargestPixelValueInSeries PixelPaddingRangeLimit PixelPaddingValue
        SmallestImagePixelValue SmallestPixelValueInSeries RescaleIntercept WindowCenter WindowWidth
        RescaleSlope
    """,
    (0, 4096): "BitsAllocated BitsStored Columns HighBit PixelRepresentation Rows SamplesPerPixel",
    (0, 1e4): "LossyImageCompressionRatio PixelAspectRatio PlanarConfiguration",
    # the patient, of whom size and weight are asked for
    (0, 3): "PatientSize",
    (0, 500): "PatientWeight",
}
LIMITS: dict[str, tuple[float, float]] = {
    keyword: limits for limits, keywords in _LIMITS.items() for keyword in keywords.split()
}
"""Keyword -> least and greatest value that stay."""

_NEEDED_WORDS = """
    BitsAllocated BitsStored Columns HighBit ImageOrientationPatient ImagePositionPatient
    NumberOfFrames PixelRepresentation PixelSpacing RescaleIntercept RescaleSlope Rows
    SamplesPerPixel SliceThickness
"""
NEEDED = frozenset(_NEEDED_WORDS.split())
"""Without these a picture is none: a slice whose value cannot stay is left out whole."""
_MOST_VALUES = {"DimensionIndexValues": 16, "ImageOrientationPatient": 6, "WindowCenter": 8}
_MOST_VALUES |= {"WindowWidth": 8, "FocalSpots": 2, "PixelSpacing": 2, "ImagePositionPatient": 3}
_MOST_VALUES |= {"DataCollectionCenterPatient": 3, "ReconstructionTargetCenterPatient": 3}
_MOST_VALUES |= {"ReconstructionFieldOfView": 2, "ReconstructionPixelSpacing": 2}
_MOST_VALUES |= {"LossyImageCompressionRatio": 4, "PixelAspectRatio": 2, "ReferencedFrameNumber": 8}
FEWEST_DIGITS = 6
"""Numbers of a patient so long are searched for among others; shorter ones are there by chance."""
_DIGITS = re.compile(r"\d+")


def stays(keyword: str, texts: Iterable[str], numbers: Collection[str] = ()) -> bool:
    """Whether the values of a number can be what their attribute says.

    Args:
        keyword: of the attribute.
        texts: its values as they are written.
        numbers: digits that identify the patient, of which none may stand among those of a value.
    """
    if keyword not in LIMITS:
        return False
    low, high = LIMITS[keyword]
    values = [text.strip(" \0") for text in texts]
    values = [text for text in values if text]
    if len(values) > _MOST_VALUES.get(keyword, 1):
        return False
    try:
        is_within = all(low <= float(text) <= high for text in values)
    except ValueError:
        return False
    if not is_within:
        return False
    if not numbers:
        return True
    return not any(number in parts for parts in map(_parts, values) for number in numbers)


def _parts(text: str) -> set[str]:
    """The digits before and after the point of a number, and all of them."""
    found = _DIGITS.findall(text)
    return {part.strip("0") for part in (*found, "".join(found))} | set(found)


def digits_of(words: Iterable[str]) -> frozenset[str]:
    """The long numbers among words that identify."""
    found = (digits for word in words for digits in _DIGITS.findall(word))
    return frozenset(digits for digits in found if len(digits) >= FEWEST_DIGITS)


def written(value: Any) -> list[str]:
    """The values of a number that was converted, as they are written."""
    if value is None or value == "":
        return []
    many = value if hasattr(value, "__iter__") and not isinstance(value, str) else [value]
    return [str(one) for one in many]
