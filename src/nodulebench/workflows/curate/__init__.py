"""From a folder of DICOM to admitted cases without identities."""
