"""Variables that look like a misspelt setting. Reads no file and asks no service."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from app.settings import FILES, NUMBERS, WORDS
from app.startup.finding import Finding

_PREFIX = "TOLLGATE_"

#: Every setting of Tollgate's own, as docs/settings.md lists them.
SETTINGS = frozenset(
    {
        *(name for name, _ in WORDS.values()),
        *FILES.values(),
        *NUMBERS.values(),
        "TOLLGATE_ACTOR",
        "TOLLGATE_CELL",
        "TOLLGATE_GRACE_S",
        "TOLLGATE_REDIS_CERT",
        "TOLLGATE_SANDBOX_URL",
        "TOLLGATE_SPOOL_DIR",
        "TOLLGATE_VAR",
    }
)

#: How alike two names are. Kubernetes sets TOLLGATE_REDIS_PORT for a service `tollgate-redis`,
#: which is less like TOLLGATE_REDIS_CERT.
_ALIKE = 0.82


def misspelt(env: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a warning for each variable that nothing reads, and that is nearly a setting's name."""
    known = [name.removeprefix(_PREFIX) for name in sorted(SETTINGS)]
    for name in sorted(env):
        if not name.startswith(_PREFIX) or name in SETTINGS:
            continue
        if near := get_close_matches(name.removeprefix(_PREFIX), known, 1, _ALIKE):
            meant = f"is not a setting, so it has no effect: is {_PREFIX}{near[0]} meant?"
            yield Finding(name, "warning", meant)
