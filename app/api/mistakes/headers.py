"""Headers of a request that are misspelt, so that they would be ignored. No I/O."""

from collections.abc import Iterator, Mapping
from typing import Any

from app.vocabulary.errors import UnknownParameter
from app.vocabulary.suggestion import did_you_mean

#: The headers of completion requests that begin as Tollgate's own, and what retries rely on.
KNOWN = ("x-tollgate-include-cost", "idempotency-key")

#: In WSGI's spelling: what Tollgate's own headers begin with, and what is in names for
#: `idempotency-key`, such as `x-idempotency-key`.
_OURS, _KEYED = "HTTP_X_TOLLGATE_", "IDEMPOTEN"


def check_headers(environ: Mapping[str, Any]) -> None:
    """Reject a header that is Tollgate's by its name and means nothing here.

    Raises: UnknownParameter. A request whose idempotency key is not read could be charged twice.
    """
    names = " ".join(environ)
    if _OURS not in names and _KEYED not in names:
        return
    for name in _suspects(environ):
        if name not in KNOWN:
            meant = "idempotency-key" if "idempoten" in name else ""
            hint = f" Did you mean `{meant}`?" if meant else did_you_mean(name, KNOWN)
            raise UnknownParameter(
                f"Tollgate has no request header `{name[:64]}`.{hint}", param=name[:64]
            )


def _suspects(environ: Mapping[str, Any]) -> Iterator[str]:
    for name in environ:
        if name.startswith(_OURS) or (name.startswith("HTTP_") and _KEYED in name):
            yield name.removeprefix("HTTP_").replace("_", "-").lower()
