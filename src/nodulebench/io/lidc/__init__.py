"""Read LIDC-IDRI: readings in its file formats, and blocks cut from its scans."""
