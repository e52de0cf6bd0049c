"""CTDIvol and length of a scan -> its dose-length product, effective dose and class of dose."""

from typing import NamedTuple

CHEST_FACTORS = ((0.5, 0.039), (3.0, 0.026), (7.5, 0.018), (15.0, 0.013))
"""Below this age in years: mSv for 1 mGy cm of a chest (newborn, 1, 5 and 10 years)."""
ADULT_FACTOR = 0.014
"""From 15 years on, and where the age is not known."""
SOURCE = "AAPM Report 96 (2008), table 3, chest"
LOW_MSV, NORMAL_MSV = (1.5, 2.5), (2.5, 5.0)
"""ITU FG-AI4H: low dose up to, normal dose from 2.5 mSv; the upper end belongs to normal."""
TABLE = {
    "chest_factors_below_age": CHEST_FACTORS,
    "adult_factor": ADULT_FACTOR,
    "source": SOURCE,
    "low_msv": LOW_MSV,
    "normal_msv": NORMAL_MSV,
}
"""All that decides, as curation writes it down."""


class Dose(NamedTuple):
    """What a scan cost the patient; None: not known."""

    ctdi_vol_mgy: float | None
    dlp_mgy_cm: float | None
    dlp_source: str | None
    """A dose report ("report"), or CTDIvol times the length of the scan ("header")."""
    dose_factor: float | None
    dose_msv: float | None
    dose_class: str | None


def dose_of(
    ctdi_vol_mgy: float | None,
    length_mm: float | None,
    age: float | None,
    reported_dlp_mgy_cm: float | None = None,
) -> Dose:
    """The dose of a scan of a chest.

    Args:
        ctdi_vol_mgy: mean over its slices.
        length_mm: what its slices cover; the scanner irradiates somewhat more.
        age: in years.
        reported_dlp_mgy_cm: as a dose report says.
    """
    dlp, source = reported_dlp_mgy_cm, "report"
    if dlp is None and ctdi_vol_mgy is not None and length_mm is not None:
        dlp, source = ctdi_vol_mgy * length_mm / 10.0, "header"
    if dlp is None:
        return Dose(ctdi_vol_mgy, None, None, None, None, None)
    factor = chest_factor(age)
    return Dose(ctdi_vol_mgy, dlp, source, factor, dlp * factor, dose_class(dlp * factor))


def chest_factor(age: float | None) -> float:
    """Effective dose for a dose-length product of the chest, mSv for 1 mGy cm."""
    younger = (factor for below, factor in CHEST_FACTORS if age is not None and age < below)
    return next(younger, ADULT_FACTOR)


def dose_class(dose_msv: float) -> str:
    """Low, normal, or other: below and above both."""
    if LOW_MSV[0] <= dose_msv < LOW_MSV[1]:
        return "low"
    return "normal" if NORMAL_MSV[0] <= dose_msv <= NORMAL_MSV[1] else "other"
