"""The known name that a mistyped one most likely means. No I/O."""

from collections.abc import Iterable
from difflib import get_close_matches

#: How alike two names must be, from 0 to 1: `temprature` and `temperature` are, `prompt` and `stop`
#: are not.
ALIKE = 0.72

#: Longer names are no typing mistakes, and comparing them takes time.
LENGTH_LIMIT = 64


def nearest(name: str, known: Iterable[str], alike: float = ALIKE) -> str | None:
    """Return the known name that is most like `name`; None if none is. Case does not count."""
    if len(name) > LENGTH_LIMIT:
        return None
    by_lower = {it.lower(): it for it in known}
    found = get_close_matches(name.lower(), by_lower, 1, alike)
    return by_lower[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ` Did you mean ...?`, to be appended to a sentence; empty if no name is like it."""
    found = nearest(name, known)
    return f" Did you mean `{found}`?" if found is not None else ""
