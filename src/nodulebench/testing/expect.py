"""Contracts: a thing keeps to them, or the reason is raised."""


def expect(holds: bool, otherwise: str) -> None:
    """Go on where something holds.

    Raises:
        AssertionError: where it does not.
    """
    if not holds:
        raise AssertionError(otherwise)
