"""The Python library: evaluate and compare files, frames and arrays; results show themselves."""
