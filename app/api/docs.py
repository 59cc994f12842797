"""`GET /openapi.json`, the API's description; `GET /docs` and `/docs/errors`, pages for people."""

import base64
import functools
import hashlib
import re
from pathlib import Path

from flask import Blueprint, Response, render_template, request
from markupsafe import Markup, escape

from app.api.error_codes import RETRIES, entries
from app.api.openapi.document import describe
from app.api.origin import origin
from app.formats import strict_json

docs_blueprint = Blueprint("docs", __name__, template_folder="templates")

_STYLE = (Path(__file__).parent / "templates" / "docs.css").read_text(encoding="utf-8")
_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_CODE = re.compile("`([^`]+)`")

#: The page runs no scripts, loads nothing, and cannot be framed.
_POLICY = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; frame-ancestors 'none'"


@docs_blueprint.get("/openapi.json")
def openapi() -> Response:
    """Return the OpenAPI document."""
    response = Response(_document(origin(request.environ)), mimetype="application/json")
    response.headers["access-control-allow-origin"] = (
        "*"  # public: tools that run in browsers read it
    )
    return response


@docs_blueprint.get("/docs")
def docs() -> Response:
    """Return the page."""
    return _page("docs.html", api=describe())


@docs_blueprint.get("/docs/errors")
def errors() -> Response:
    """Return the page that explains each error; its headings are the codes."""
    return _page("errors.html", entries=entries(), retries=RETRIES)


def _page(template: str, **values: object) -> Response:
    html = render_template(template, style=Markup(_STYLE), **values)  # noqa: S704 - ours
    headers = {"content-security-policy": _POLICY, "x-content-type-options": "nosniff"}
    return Response(html, mimetype="text/html", headers=headers)


@functools.lru_cache(maxsize=16)  # callers choose the host
def _document(at: str) -> bytes:
    servers = {"servers": [{"url": at}]} if at else {}
    return strict_json.dump({**describe(), **servers})


@docs_blueprint.app_template_filter("prose")
def prose(text: str) -> Markup:
    """Return text as HTML, with its `code` marked up."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped before


@docs_blueprint.app_template_filter("kind")
def kind(schema: dict[str, object]) -> str:
    """Return a short name for the values that a JSON Schema accepts: `string or [string]`."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return reference.rpartition("/")[2]
    options = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(options, list):
        return " or ".join(kind(option) for option in options)
    types = schema.get("type", "any")
    names = [str(name) for name in (types if isinstance(types, list) else [types])]
    inner = schema.get("items")
    if "array" in names and isinstance(inner, dict):
        names[names.index("array")] = f"[{kind(inner)}]"
    return " or ".join(names) + _bounds(schema)


def _bounds(schema: dict[str, object]) -> str:
    low, high, values = schema.get("minimum"), schema.get("maximum"), schema.get("enum")
    if isinstance(values, list):
        return ": " + ", ".join(str(value) for value in values if value is not None)
    if low is not None and high is not None:
        return f", {low} to {high}"
    return f", at least {low}" if low is not None else ""
