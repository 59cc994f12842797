"""Where a caller reaches Tollgate; only for addresses in what the same caller is sent."""

import re
from collections.abc import Mapping
from typing import Any

_HOST = re.compile(r"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")


def origin(environ: Mapping[str, Any]) -> str:
    """Return the scheme and host of a WSGI request, such as `https://tollgate.example.com`.

    Empty if the request has no plain host. A proxy's `x-forwarded-proto` counts.
    """
    host = environ.get("HTTP_HOST", "")
    if not _HOST.fullmatch(host):
        return ""
    schemes = (environ.get("wsgi.url_scheme"), environ.get("HTTP_X_FORWARDED_PROTO"))
    return f"{'https' if 'https' in schemes else 'http'}://{host}"
