"""A scan and its variants -> whether an algorithm's marks change as they must."""
