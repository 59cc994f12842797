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

#: Settings of which other tools set variables with similar names, so a name that is nearly one of
#: these counts only while the setting itself is missing.
SHARED = frozenset({"DATABASE_URL", "REDIS_URL", "WEB_CONCURRENCY"})

#: How alike two names are. Kubernetes sets TOLLGATE_REDIS_PORT for a service `tollgate-redis`,
#: which is less like TOLLGATE_REDIS_CERT.
_ALIKE = 0.82


def misspelt(env: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a warning for each variable that nothing reads, and that is nearly a setting's name."""
    missing = sorted(name for name in SHARED if not env.get(name))
    own = sorted(name.removeprefix(_PREFIX) for name in SETTINGS)
    for name in sorted(env.keys() - SETTINGS - SHARED):
        if name.upper().startswith(_PREFIX):
            found = get_close_matches(name.upper().removeprefix(_PREFIX), own, 1, _ALIKE)
            near = [f"{_PREFIX}{it}" for it in found]
        else:
            near = get_close_matches(name.upper(), missing, 1, _ALIKE)
        if near:
            meant = f"is not a setting, so it has no effect: is {near[0]} meant?"
            yield Finding(name, "warning", meant)
