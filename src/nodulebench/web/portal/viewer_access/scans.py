"""The folders of scans that lie on the machine of the site, for projects, exams and reviews."""

from pathlib import Path

from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.site import Site

VOXELS = "voxels"
"""Folder of the storage where voxels of scans are kept, which can be thrown away."""


def scan_folders(site: Site) -> list[str]:
    """The folders of scans that something can be about."""
    place = site.settings.scan_sets
    if not place.is_dir():
        return []
    return sorted(one.name for one in place.iterdir() if one.is_dir() and one.name[0] != ".")


def images_of(site: Site, name: str) -> Path:
    """Where the scans of a folder lie.

    Raises:
        DeniedError: if there is no such folder.
    """
    if name not in scan_folders(site):
        raise DeniedError("not_found", 404)
    return site.settings.scan_sets / name


def voxels_of(site: Site) -> Path:
    """Where voxels are kept."""
    return site.settings.storage / VOXELS
