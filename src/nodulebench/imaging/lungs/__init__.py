"""The lungs of a scan: air in the body, which of it is lung, sides, airways, density, doubts."""
