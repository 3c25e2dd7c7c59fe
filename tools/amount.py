"""An outcome with its unit, as a person writes it, and how large a number may be that a person gives."""

TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
MOST = 2**31 - 1
"""The largest whole number that an option or a setting takes; what records and libraries keep as 32 bits."""
LONGEST = 1e9
"""The largest number otherwise, as of seconds (32 years)."""


def amount(value: float, unit: str) -> str:
    """Write an outcome with its unit; seconds in the unit that suits their size."""
    if unit != "s":
        return f"{value:.4g} {unit}".rstrip()
    size, name = next((scale for scale in TIME_UNITS if abs(value) >= scale[0]), TIME_UNITS[-1] if value else (1, "s"))
    return f"{value / size:.4g} {name}"


def between(low: float, high: float, unit: str) -> str:
    """Write a range of outcomes in the unit that suits its upper end: `46.1 to 93.9 ms`."""
    size, name = (
        next((scale for scale in TIME_UNITS if abs(high) >= scale[0]), TIME_UNITS[-1]) if unit == "s" else (1, unit)
    )
    return f"{low / size:.3g} to {high / size:.3g} {name}".rstrip()
