"""An outcome with its unit, as a person writes it."""

TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def amount(value: float, unit: str) -> str:
    """Write an outcome with its unit; seconds in the unit that suits their size."""
    if unit != "s":
        return f"{value:.4g} {unit}".rstrip()
    size, name = next((scale for scale in TIME_UNITS if abs(value) >= scale[0]), TIME_UNITS[-1] if value else (1, "s"))
    return f"{value / size:.4g} {name}"
