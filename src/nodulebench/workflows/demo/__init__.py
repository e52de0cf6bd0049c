"""A whole test on made-up data, for a first look."""
