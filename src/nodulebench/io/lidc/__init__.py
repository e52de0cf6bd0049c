"""What readers of LIDC-IDRI drew, in its several files, and blocks cut from its scans."""
