"""Texts of a header -> whether each is known to be harmless: makers, models, kernels, codes.

Free text can name a person. So a text stays only if its attribute is listed here and every part of
it is known: a word of a list, or a form that numbers and names of people do not have. One line adds
a word.
"""

import re
from collections.abc import Callable, Collection, Iterable
from functools import cache
from typing import Any

SEPARATORS = re.compile(r"[\s,;:_/\\()\[\]+&-]+")

_DESCRIPTION = """
    abd abdomen algorithm angio angiogram angiography apex arterial axial base body bone breath
    cap chest cm contrast contrasted control cor coronal ct cta ctpa delayed detail diagnostic
    dose enhanced exam examination exp expiration expiratory fine first follow followup helical
    high hires hold hr hrct insp inspiration inspiratory iodinated iodine iodixanol iohexol
    iomeprol iopamidol iopromide ioversol iv kernel kv kvp ld ldct legs liver low lower lung lungs
    ma mas mediast mediastin mediastinal mediastinum mip mm mpr native neck no non noncontrast
    nonionic normal omnipaque optiray oral parenchyma pe pelvis phase pitch plain portal post pre
    prone protocol pulm pulmonary recon reconstruction reformat routine sag sagittal scan screen
    screening second series sharp soft spiral staging standard std supine thick thin thk thoracic
    thorax tissue tube ultra ultravist upper venous visipaque vol volume wb with without wo
    xenetix
"""
_MAKERS = """
    accuray acist anke arineta canon cardiograph carestream corporation curvebeam elscint ge
    general electric gems healthcare healthineers hitachi imaging imatron inc koning ltd marconi
    medical mediso minfound neurologica neusoft nms nodulebench philips picker samsung shanghai
    shimadzu siemens sinovision systems toshiba uih united
"""
_MODELS = """
    access activion alexion alpha apex aquilion as asteion astelion biograph bodytom brightspeed
    brilliance category celesteion ceretom chronon cirrus class confidence ct ct750 ctl cv cx
    definition discovery drive dual duo edge elite elx emotion essence evo excel flash force fx
    gemini genesis go gt hd hd750 hdx hispeed i ict incisive infinity ingenuity insight iq iqon
    jupiter large lb lightning lightspeed lite maxima mct micro mx mx8000 naeotom neuviz nm nx one
    open optima origin pet phantom plus power precise precision premium pride prime pro promotion
    prospeed pulse qx rt rxi scenaria scope select sense sensation serve signa sim smart somatom
    speed spirit supria sx synergy tf toshiba tx uct ultra umi vct view vision volume vue wave
    xact xpress xt xvision ze zoom all top up now x.cite x.ceed
"""
_KERNELS = """
    a asa asir auto b bone boneplus body brain c chest chst cs d detail e edge ec eb ev ew f fine hd
    head high idose l lung lungplus medium normal os p pl plus resolution s safire sharp shrp sm
    smooth soft stand standard stnd ub ultra vsharp vsoft w y ya yb yc yd ye yf yl
"""
_SOFTWARE = "apps ct gmp hde lightspeed mars nodulebench re revo rev sles syngo vct via x"
_CODE_WORDS = """
    0 1 180 2 2d 3 360 3d 4 4d abdomen above accepted add adaptive adc afs all angio angular apex
    apply ar arterial asir auto average averaged axial axl b band bar base baseline below biphasic
    body bolus bone both breast cardiac ccw center chest code coll collimated color combined
    compressed constant contrast cor coronal corrected csa ct cta cu cw data decubitus delayed
    derived detector diastolic distorted dose double dual dynamic ecg edge energy enhanced
    equidistant exp exposure extended fast ffdl ffdr ffp ffs filter filtered first fit fixed flat
    flexible float flow foot frame free from full gated ge gr gsi gy hand head helical helix hfdl
    hfdr hfp hfs hfv hi high horizontal hu hybrid i identity image increasing injection insp
    intensity interlaced inverse iso iterative iv l last lateral left leg lin linear liver localizer
    long low lung m m_so ma main map mas maximum mean med medium mean_ip min minimum minip mip
    mixed mod mode mono monoenergetic monochrome1 monochrome2 monochromatic mosaic motion mpr
    multi multienergy n native neck no none norm normal not o off on open optimized oral original
    out outside p parallel partial patient pelvis perfusion phase pixel planar plane plus portal
    position post pre primary projection prospective pulse quality r ramp range ratio raw recon
    reconstructed rect reference reformat reformatted regular removed rescale research resampled
    respiratory result retrospective right rotation rpm rt s sag sagittal sample sampled scan scout
    secondary sequence sequenced shape sharp short single slab smooth snapshot soft som5 som7 som8
    spectral spi spiral spine square sr standard start static stationary std step stepwise still
    stnd stop straight structure subtracted subtraction sum super surface symmetric synchronized
    systolic table target thick thin thorax tilt time top total transverse true tube type ultra
    uncompressed undefined uniform unknown unspecified unused upper us vanish variable venous
    vertical view virtual volume volumetric w walk water wedge whole wide wholebody with without x
    xy xyz xyzec y yes z z_eff zero
    air aluminum beryllium copper lead molybdenum tin titanium tungsten
    filter_back_proj modified unmodified
    arm shoulder hip knee ankle foot elbow wrist skull extremity heart kidney aorta tspine lspine
    cspine tlspine chestabdomen chestabdpelvis chestabdpelv abdomenpelvis abdpelvis neckchest
    neckchestabdomen neckchestabdpelv headneck wholelung lungs
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DESCRIPTION_WORDS = _words(_DESCRIPTION)
_KERNEL = re.compile(
    r"(?:a|b|bf|bl|br|bv|bz|c|d|f|fc|fl|h|hc|hf|hk|hp|hr|hv|i|ib|il|j|k|q|qr|sa|sb|t|u|ub|uf|ur|uv)"
    r"\d{2}[a-z]?"
)
_DESCRIBED_KERNEL = re.compile(r"(?:b|bf|bl|br|d|fc|hr|i|qr|t|ub)\d{2}[a-z]?")
_STRENGTH = re.compile(r"\d{1,2}(?:%)?")
_MEASURE = re.compile(r"(\d{1,3}(?:\.\d{1,4})?)(mm|cm|ma|mas|kv|kvp)")
_SHORT_NUMBER = re.compile(r"[a-z]?\d{1,3}(?:\.\d)?[a-z]{0,2}")
_VERSION = re.compile(
    r"[vr]?\d{1,2}(?:\.\d{1,3}){0,3}[a-z]?(?:er\d{1,3})?|r\d{3}|v[a-z]\d{2}[a-z]?|20[0-3]\d[a-z]"
    r"|\d{2}mw\d{2}(?:\.\d{1,2})?|h\d\.\d{1,2}m\d{1,2}|sl\d{1,2}p\d{1,3}|sp\d{1,2}|vct\.\d{1,3}"
    r"|(?:lightspeed)?apps\d{1,2}(?:\.\d{1,2}){1,3}"
)


def _all_known(words: frozenset[str], *forms: re.Pattern[str]) -> Callable[[str], bool]:
    """Whether every part of a text is a word of a list or matches one of some patterns."""

    def is_known(text: str) -> bool:
        parts = [part for part in SEPARATORS.split(text.casefold()) if part]
        return all(part in words or any(form.fullmatch(part) for form in forms) for part in parts)

    return is_known


def _one_of(*texts: str) -> Callable[[str], bool]:
    return lambda text: text in texts


def _matches(form: str) -> Callable[[str], bool]:
    pattern = re.compile(form)
    return lambda text: pattern.fullmatch(text) is not None


@cache
def _character_sets() -> frozenset[str]:
    from pydicom.charset import python_encoding

    return frozenset(python_encoding)


TEXTS: dict[str, Callable[[str], bool]] = {
    "Manufacturer": _all_known(_words(_MAKERS)),
    "ManufacturerModelName": _all_known(_words(_MODELS) | _words(_MAKERS), _SHORT_NUMBER),
    "ConvolutionKernel": _all_known(_words(_KERNELS), _KERNEL, _STRENGTH),
    "SoftwareVersions": _all_known(_words(_SOFTWARE), _VERSION),
    "FilterType": _all_known(_words(_CODE_WORDS) | _words("bowtie small large body flat")),
    "PositionReferenceIndicator": _one_of("SN", "XY", "OM", "IC", "BB", "NA", "SM", "XP", "LM"),
    "RescaleType": _one_of("HU", "US", "HU_MOD", "PCT", "Z_EFF", "ED", "EDW", "MGML", "OD"),
    "WindowCenterWidthExplanation": _all_known(
        _DESCRIPTION_WORDS | _words("window abdomen brain default"), re.compile(r"window\d")
    ),
    "LossyImageCompressionMethod": _matches(r"ISO_\d{4,5}_\d"),
    "StackID": _matches(r"\d{1,4}"),
}
"""Keyword -> whether a text of this attribute may stay."""

_CODE = _all_known(_words(_CODE_WORDS))
CODES: dict[str, Callable[[str], bool]] = {
    "SpecificCharacterSet": lambda text: text in _character_sets(),
    "Modality": _one_of("CT"),
    "PatientSex": _one_of("M", "F", "O"),
    "PatientOrientation": _matches(r"[AFHLPR]{1,3}"),
}
"""Keyword -> whether a code string may stay; all others must consist of known words."""


def is_known_text(keyword: str, text: str) -> bool:
    """Whether the text of an attribute is known to identify no one."""
    return keyword in TEXTS and TEXTS[keyword](text)


def is_known_code(keyword: str, text: str) -> bool:
    return len(text) <= 32 and CODES.get(keyword, _CODE)(text)


def clean_description(text: str) -> str:
    """The known words and measures of a description; everything else is removed.

    A number stays only with its unit: ``12/05/99`` and ``555-123`` consist of short numbers too.
    """
    words = []
    joined = re.sub(r"(?<=\d)\s+(?=(?:mm|cm|mas?|kvp?)\b)", "", text.casefold())
    for part in SEPARATORS.split(joined):
        is_known = part in _DESCRIPTION_WORDS or _DESCRIBED_KERNEL.fullmatch(part)
        if is_known or _MEASURE.fullmatch(part):
            words.append(part.upper())
    return " ".join(words)


def is_clean_description(text: str) -> bool:
    """Whether a description holds nothing that would be removed."""
    return clean_description(text) == text


NUMBER_KINDS = frozenset({"DS", "FD", "FL", "IS", "SL", "SS", "SV", "UL", "US", "UV"})
"""Value representations of numbers."""

_LIMITS: dict[tuple[float, float], str] = {
    # counts within a scan; numbers of a hospital are longer
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
    # the tube: kilovolts, milliampere, milliseconds and their products
    (0, 1000): """
        KVP XRayTubeCurrentInmA CTDIvol EstimatedDoseSaving ContrastBolusVolume
        ContrastBolusTotalDose ContrastFlowRate ContrastFlowDuration
    """,
    (0, 2000): "XRayTubeCurrent",
    (0, 99_999): "Exposure ExposureInmAs ExposureTime ExposureTimeInms",
    (0, 100): "ContrastBolusIngredientConcentration WaterEquivalentDiameter AcquisitionDuration",
    # the image
    (-70_000, 70_000): """
        LargestImagePixelValue LargestPixelValueInSeries PixelPaddingRangeLimit PixelPaddingValue
        SmallestImagePixelValue SmallestPixelValueInSeries RescaleIntercept WindowCenter WindowWidth
        RescaleSlope
    """,
    (0, 4096): "BitsAllocated BitsStored Columns HighBit PixelRepresentation Rows SamplesPerPixel",
    (0, 1e4): "LossyImageCompressionRatio PixelAspectRatio PlanarConfiguration",
    # the patient's size and weight
    (0, 3): "PatientSize",
    (0, 500): "PatientWeight",
}
LIMITS: dict[str, tuple[float, float]] = {
    keyword: limits for limits, keywords in _LIMITS.items() for keyword in keywords.split()
}
"""Keyword -> lowest and highest allowed value."""

_NEEDED_WORDS = """
    BitsAllocated BitsStored Columns HighBit ImageOrientationPatient ImagePositionPatient
    NumberOfFrames PixelRepresentation PixelSpacing RescaleIntercept RescaleSlope Rows
    SamplesPerPixel SliceThickness
"""
NEEDED = frozenset(_NEEDED_WORDS.split())
"""An image needs these: a slice in which one of them is not allowed is refused."""
_MOST_VALUES = {"DimensionIndexValues": 16, "ImageOrientationPatient": 6, "WindowCenter": 8}
_MOST_VALUES |= {"WindowWidth": 8, "FocalSpots": 2, "PixelSpacing": 2, "ImagePositionPatient": 3}
_MOST_VALUES |= {"DataCollectionCenterPatient": 3, "ReconstructionTargetCenterPatient": 3}
_MOST_VALUES |= {"ReconstructionFieldOfView": 2, "ReconstructionPixelSpacing": 2}
_MOST_VALUES |= {"LossyImageCompressionRatio": 4, "PixelAspectRatio": 2, "ReferencedFrameNumber": 8}
FEWEST_DIGITS = 6
"""Numbers of a patient with this many digits are searched for; shorter ones occur by chance."""
_DIGITS = re.compile(r"\d+")


def is_allowed_number(keyword: str, texts: Iterable[str], numbers: Collection[str] = ()) -> bool:
    """Whether the values of a numeric attribute are plausible and do not identify the patient.

    Args:
        keyword: the keyword of the attribute.
        texts: its values as text.
        numbers: digits that identify the patient; no value may contain them.
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
    """The digits before and after the point of a number, and all digits together."""
    runs = _DIGITS.findall(text)
    return {part.strip("0") for part in (*runs, "".join(runs))} | set(runs)


def digits_of(words: Iterable[str]) -> frozenset[str]:
    """The long numbers among words that identify."""
    runs = (digits for word in words for digits in _DIGITS.findall(word))
    return frozenset(digits for digits in runs if len(digits) >= FEWEST_DIGITS)


def written(value: Any) -> list[str]:
    """The values of a converted numeric element, as text."""
    if value is None or value == "":
        return []
    many = value if hasattr(value, "__iter__") and not isinstance(value, str) else [value]
    return [str(number) for number in many]
