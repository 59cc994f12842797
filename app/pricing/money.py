"""Nano-dollars as people and JSON write dollars, to the last digit."""

from decimal import Context, Decimal

#: Wide enough for every sum: dividing must not round.
_EXACT = Context(prec=40)


def dollars(nanousd: int) -> str:
    """Return an amount in dollars without rounding it: `0.0015`."""
    return f"{_EXACT.scaleb(Decimal(nanousd), -9).normalize(_EXACT):f}"
