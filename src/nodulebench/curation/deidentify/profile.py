"""Attribute -> its action in the Basic Application Level Confidentiality Profile.

The actions of DICOM PS3.15 (2026c) table E.1-1, column "Basic Prof.": D a dummy value, Z empty or a
dummy, X remove, U a new UID; with slashes the first that the object's definition allows. Repeating
groups (50xx curves, 60xx overlays) and private attributes are removed by rule, not by this list.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

EDITION = "DICOM PS3.15 2026c"
_TAGS = {
    "D": """
        00080106 00080107 00120010 00120020 00120040 00120042 00120081 001811BB 00189074 00189151
        00189367 00189369 0018936A 00189371 00189623 00189701 00189804 00340001 00340002 00340005
        00340007 003A0314 00400512 00400551 00401101 0040A027 0040A030 0040A073 0040A075 0040A120
        0040A121 0040A122 0040A123 0040A13A 0040A730 00420011 00440104 00686226 00686270 006A0003
        006A0005 00700001 00700006 0072000A 0072005E 0072005F 00720061 00720063 00720065 00720066
        00720068 0072006A 0072006B 0072006C 0072006D 0072006E 00720070 00720071 04000105 04000115
        04000562 04000563 04000565 21000140 30060002 30080024 30080025 30080162 30080164 30080166
        30080168 300A0002 300A022C 300A022E 300A0608 300A0619 300A0623 300A062A 300A067C 300A0734
        300A0736 300A073A 300A0741 300A0742 300A0760 300A0783 300C0127 3010002D 30100033 30100034
        30100035 30100038 30100054
    """,
    "Z": """
        00080020 00080030 00080050 00080090 0008009C 00100010 00100030 00100040 00120021 00120030
        00120031 00120050 00120060 00181203 00200010 00400513 00400562 00400610 00402016 00402017
        0040A082 0040A088 04000564 30060008 30060009 30060026 300600A6 300A0611 300A0615 300A067D
        300E0004 300E0005 3010000F 30100017 3010001B 30100043 3010005A 3010005C 3010007A 3010007B
        3010007F 30100081
    """,
    "X": """
        00001000 00080015 00080024 00080025 00080034 00080035 00080054 00080055 00080081 00080092
        00080094 00080096 0008009D 00080201 00081000 00081030 0008103E 00081040 00081041 00081048
        00081049 00081050 00081052 00081060 00081062 00081080 00081084 00081088 00081120 00081301
        00081302 00081303 00081304 00082111 00084000 00100011 00100012 00100013 00100014 00100015
        00100016 00100021 00100032 00100041 00100042 00100043 00100044 00100045 00100046 00100047
        00100050 00100101 00100102 00101000 00101001 00101002 00101005 00101010 00101020 00101030
        00101040 00101050 00101060 00101080 00101081 00101090 00101100 00102000 00102110 00102150
        00102152 00102154 00102155 00102160 00102161 00102162 00102180 001021A0 001021B0 001021C0
        001021D0 001021F0 00102297 00102299 00104000 00120022 00120023 00120032 00120041 00120043
        00120051 00120055 00120071 00120072 00120073 00120082 00120086 00120087 0014407C 0014407E
        0016002B 0016004B 0016004D 0016004E 0016004F 00160050 00160051 00160070 00160071 00160072
        00160073 00160074 00160075 00160076 00160077 00160078 00160079 0016007A 0016007B 0016007C
        0016007D 0016007E 0016007F 00160080 00160081 00160082 00160083 00160084 00160085 00160086
        00160087 00160088 00160089 0016008A 0016008B 0016008C 0016008D 0016008E 00180027 00180035
        00181004 00181005 00181007 00181008 00181009 0018100A 00181010 00181011 00181012 00181014
        00181042 00181043 00181072 00181073 00181078 00181079 00181200 00181201 00181202 00181204
        00181205 00184000 00185011 00189185 00189373 0018937B 0018937F 00189424 00189937 0018A002
        0018A003 00200027 00203401 00203403 00203405 00203406 00204000 00209158 00284000 00320012
        00320032 00320033 00320034 00320035 00321000 00321001 00321010 00321011 00321020 00321021
        00321030 00321032 00321033 00321040 00321041 00321050 00321051 00321066 00321067 00321070
        00324000 00380004 00380010 00380011 00380014 0038001A 0038001B 0038001C 0038001D 0038001E
        00380020 00380021 00380030 00380032 00380040 00380050 00380060 00380061 00380062 00380064
        00380300 00380400 00380500 00384000 003A0020 003A0203 003A020C 003A0329 003A032B 00400001
        00400002 00400003 00400004 00400005 00400006 00400007 00400009 0040000B 00400010 00400011
        00400012 00400241 00400242 00400243 00400244 00400245 00400250 00400251 00400253 00400254
        00400275 00400280 00400310 0040050A 0040051A 00400556 00400600 00400602 004006FA 00401001
        00401002 00401004 00401005 0040100A 00401010 00401011 00401102 00401103 00401104 00401400
        00402001 00402004 00402005 00402008 00402009 00402010 00402011 00402400 00403001 00404005
        00404008 00404010 00404011 00404025 00404027 00404028 00404030 00404034 00404035 00404036
        00404037 00404050 00404051 00404052 0040A023 0040A024 0040A033 0040A034 0040A035 0040A078
        0040A07A 0040A07C 0040A110 0040A112 0040A192 0040A193 0040A307 0040A352 0040A353 0040A354
        0040A358 0040B034 0040B036 0040B03B 0040B03F 0040DB06 0040DB07 0040E004 0040E012 00440004
        0044000B 00440010 00440105 0050001B 00500020 00500021 006A0006 00700082 00700083 00700086
        00741234 00741236 00880200 00880904 00880906 00880910 00880912 01000420 04000310 04000402
        04000403 04000404 04000550 04000551 04000552 04000561 04000600 20300020 21000040 21000050
        21000070 30020121 30020123 30060004 30060006 30060028 3006002D 3006002E 30060038 3006004D
        3006004E 30060085 30060088 300A0003 300A0004 300A000B 300A000E 300A0016 300A0072 300A00C3
        300A00DD 300A0196 300A01A6 300A01B2 300A0216 300A02EB 300A0676 300A078E 300A0792 300A0794
        300A079A 300C0113 30100036 30100037 30100061 30100085 40000010 40004000 40080040 40080042
        40080100 40080101 40080102 40080108 40080109 4008010A 4008010B 4008010C 40080111 40080112
        40080113 40080114 40080115 40080118 40080119 4008011A 40080200 40080202 40080300 40084000
        FFFAFFFA FFFCFFFC
    """,
    "U": """
        00001001 00020003 00041511 00080014 00080017 00080018 00080019 00080058 00081155 00081195
        00083010 00181002 0018100B 00182042 0020000D 0020000E 00200052 00200200 00209161 00209164
        00281199 00281214 003A0310 00400554 00404023 0040A124 0040A171 0040A172 0040A402 0040DB0C
        0040DB0D 00620021 00640003 0070031A 00701101 00701102 00880140 04000100 30060024 300600C2
        300A0013 300A0054 300A0083 300A0609 300A0650 300A0700 300A0785 30100006 3010000B 30100013
        30100015 30100031 3010003B 3010006E 3010006F
    """,
    "Z/D": """
        00080023 00080033 00100020 00180010 00189919 00700084
    """,
    "X/Z": """
        00080022 00080032 00081110 00102203 00321060 00400555 22000002 22000005 30080105 300A00B2
        300E0008
    """,
    "X/D": """
        00080012 00080021 00080031 00081072 00181030 00181400 0018700A 0018700C 0018700E 00189516
        00189517 0040A032 0040B020 30080054 30080056 30080250 30080251 300A0006 300A0007 3010004C
        3010004D 30100056 30100077
    """,
    "X/Z/D": """
        00080013 0008002A 00080080 00080082 00081010 00081070 00081111 00181000
    """,
    "X/Z/U*": """
        00081140 00082112
    """,
}

ACTIONS: dict[int, str] = {
    int(tag, 16): action for action, tags in _TAGS.items() for tag in tags.split()
}

_OPTIONS = {
    "113105": "00081030 0008103E 00180010 00181030",
    "113107": """
        00080012 00080013 00080020 00080021 00080022 00080023 0008002A 00080030 00080031 00080032
        00080033 00181042 00181043 00189074 00189151
    """,
    "113108": "00100040 00101010 00101020 00101030",
}
OPTIONS: dict[int, str] = {
    int(tag, 16): option for option, tags in _OPTIONS.items() for tag in tags.split()
}
"""Attributes of CT images that an option treats differently from the basic profile -> its code.

113105 Clean Descriptors: known words stay. 113107 Retain Longitudinal Temporal Information with
Modified Dates: they are shifted. 113108 Retain Patient Characteristics: they stay.
"""


DESCRIPTORS = frozenset(
    {"StudyDescription", "SeriesDescription", "ProtocolName", "ContrastBolusAgent"}
)
"""Clean Descriptors Option: of these, known words stay and everything else goes."""

CHARACTERISTICS = frozenset({"PatientSex", "PatientAge", "PatientSize", "PatientWeight"})
"""Retain Patient Characteristics Option."""

_SHIFTED_DATES_WORDS = """
    AcquisitionDate AcquisitionDateTime AcquisitionTime ContentDate ContentTime
    ContrastBolusStartTime ContrastBolusStopTime FrameAcquisitionDateTime FrameReferenceDateTime
    InstanceCreationDate InstanceCreationTime SeriesDate SeriesTime StudyDate StudyTime
"""
SHIFTED_DATES = frozenset(_SHIFTED_DATES_WORDS.split())
"""Retain Longitudinal Temporal Information with Modified Dates Option: dates of these are shifted,
times of day stay."""

REQUIRED_TEXT = {
    name: frozenset({"1.2.840.10008.5.1.4.1.1.2.1"})
    for name in ("DeviceSerialNumber", "Manufacturer", "ManufacturerModelName", "SoftwareVersions")
}
"""Attributes that a class of objects must have: they get a dummy if they must be removed."""
DUMMY = "REMOVED"

METHOD = "DICOM PS3.15 basic profile, options 113105 113107 113108"
METHOD_CODES = (
    ("113100", "Basic Application Confidentiality Profile"),
    ("113105", "Clean Descriptors Option"),
    ("113107", "Retain Longitudinal Temporal Information Modified Dates Option"),
    ("113108", "Retain Patient Characteristics Option"),
)
"""The applied profile and options, as coded by DICOM PS3.16 CID 7050."""
NOT_CLAIMED = (
    ("113101", "Clean Pixel Data Option"),
    ("113102", "Clean Recognizable Visual Features Option"),
    ("113103", "Clean Graphics Option"),
    ("113104", "Clean Structured Content Option"),
    ("113106", "Retain Longitudinal Temporal Information Full Dates Option"),
    ("113109", "Retain Device Identity Option"),
    ("113110", "Retain UIDs Option"),
    ("113111", "Retain Safe Private Option"),
    ("113112", "Retain Institution Identity Option"),
)
"""Options of the standard that are not claimed."""
OWN_TEXTS = frozenset({METHOD, DUMMY, *(meaning for _, meaning in METHOD_CODES)})
"""Texts that are written here identify no one, even if they contain a name of the patient."""

OLDEST_YEARS = 90
"""Higher ages are replaced by this one, since they are rare enough to identify."""


def capped_age(text: str) -> str:
    """A DICOM age, at most 90 years; empty where it is not valid."""
    if not re.fullmatch(r"\d{3}[DWMY]", text):
        return ""
    is_old = text.endswith("Y") and int(text[:3]) > OLDEST_YEARS
    return f"{OLDEST_YEARS:03d}Y" if is_old else text


CODE_PARTS = frozenset({"CodeValue", "CodingSchemeDesignator", "CodeMeaning"})
"""The parts of a coded term that stay; its meaning is replaced by the standard's."""
LONGEST_MEANING = 64
"""Characters that a meaning may have (VR LO)."""


@cache
def _meanings(scheme: str) -> dict[str, str]:
    """Codes of a scheme -> their shortest meanings in pydicom's dictionary of PS3.16."""
    from pydicom.sr._concepts_dict import concepts

    meanings: dict[str, str] = {}
    held: Any = concepts
    for codes in held.get(scheme, {}).values():
        for code, (meaning, _) in codes.items():
            known = meanings.get(str(code))
            if known is None or len(meaning) < len(known):
                meanings[str(code)] = str(meaning)
    return meanings


@cache
def _successor(code: str) -> str:
    """The SNOMED CT code of an older SNOMED code; empty: none."""
    from pydicom.sr._snomed_dict import mapping

    return str(mapping["SRT"].get(code, ""))


def meaning_of(item: Any) -> str:
    """The standard's meaning of a coded term; empty: not a term of the standard.

    Args:
        item: an item of a code sequence.
    """
    scheme, code = (
        str(item.get(name, "") or "") for name in ("CodingSchemeDesignator", "CodeValue")
    )
    if scheme in ("SRT", "SNM3", "99SDM"):
        scheme, code = "SCT", _successor(code)
    meaning = _meanings(scheme).get(code, "") if scheme in SCHEMES else ""
    return meaning[:LONGEST_MEANING]


SCHEMES = frozenset({"DCM", "LN", "RADLEX", "SCT", "UCUM"})
"""Public schemes; private codes of a hospital are removed."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A profile or option of the standard."""

    code: str
    """Code of PS3.16 CID 7050; if claimed, it is in De-identification Method Code Sequence."""
    name: str
    is_claimed: bool
    rows: int
    """Number of attributes of table E.1-1 that are treated by it."""


def conformance() -> tuple[str, list[Claim]]:
    """The edition of the standard, and the claimed profile and options."""
    rows = Counter(OPTIONS.values())
    rows[METHOD_CODES[0][0]] = len(ACTIONS) - len(OPTIONS)
    claims = [Claim(code, name, True, rows[code]) for code, name in METHOD_CODES]
    return EDITION, claims + [Claim(code, name, False, 0) for code, name in NOT_CLAIMED]
