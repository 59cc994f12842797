"""Money: whole nano-dollars inside Tollgate, dollars for people and in JSON. No I/O."""

from decimal import Context, Decimal, Inexact, InvalidOperation

#: Nano-dollars per dollar.
NANO = 10**9

#: Wide enough for every sum, so that a division never rounds.
_EXACT = Context(prec=40)
_WHOLE = Context(prec=40, traps=[Inexact, InvalidOperation])
_NANO_USD = Decimal("1e-9")


def usd_of(nanousd: int) -> Decimal:
    """Return an amount in dollars, exactly."""
    return _EXACT.scaleb(Decimal(nanousd), -9)


def dollars(nanousd: int) -> str:
    """Return an amount in dollars as a plain number, exactly: `0.0015`."""
    whole, nano = divmod(abs(nanousd), NANO)
    sign = "-" if nanousd < 0 else ""
    return f"{sign}{whole}.{nano:09d}".rstrip("0").rstrip(".")


def show_usd(nanousd: int) -> str:
    """Return an amount with its sign, cents and as many digits as it has: `$1.50`, `$0.000015`."""
    whole, nano = divmod(abs(nanousd), NANO)
    cents = f"{nano:09d}".rstrip("0").ljust(2, "0")
    return f"{'-' if nanousd < 0 else ''}${whole:,}.{cents}"


def nanousd_of(usd: Decimal) -> int:
    """Return dollars in nano-dollars.

    Raises: ValueError when `usd` is not finite, is not a whole number of nano-dollars, or has more
    than 40 digits: a short text such as 1e999999999 may be a number of a gigabyte.
    """
    try:
        if usd.is_finite():
            return int(_EXACT.scaleb(usd.quantize(_NANO_USD, context=_WHOLE), 9))
    except (Inexact, InvalidOperation):
        pass
    raise ValueError("the amount is not a whole number of nano-dollars")


def nearest_nanousd(usd: Decimal) -> int:
    """Return dollars in nano-dollars, rounded; `usd` must be finite."""
    return round(usd * NANO)
