"""Networks that look through a scan for nodules, one file each, and how they do it part by part."""
