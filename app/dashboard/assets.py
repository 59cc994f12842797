"""Addresses of the dashboard's static files, which change with their content.

So a browser keeps a file for as long as it likes, and loads a new version's file at once.
"""

import hashlib
from functools import cache
from pathlib import Path

from flask import Response, request, url_for

FOLDER = Path(__file__).with_name("static")

#: For addresses with a digest: their content never changes.
KEPT_FOREVER = "public, max-age=31536000, immutable"


def asset(name: str) -> str:
    """Return the address of a static file."""
    return url_for("dashboard.static", filename=name, v=_digest(name))


def keep_in_browser(response: Response) -> None:
    """Let the browser keep the static file that was requested, if its address has its digest."""
    if request.endpoint != "dashboard.static" or response.status_code != 200:
        return
    if request.method not in ("GET", "HEAD"):  # OPTIONS succeeds for files that do not exist
        return
    name = (request.view_args or {}).get("filename", "")
    if request.args.get("v") == _digest(name):
        response.headers["cache-control"] = KEPT_FOREVER


@cache
def _digest(name: str) -> str:
    return hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()[:12]
