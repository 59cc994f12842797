"""`GET /openapi.json`, the API's description; `GET /docs` and `/docs/errors`, pages for people."""

import base64
import functools
import hashlib
from pathlib import Path

from flask import Blueprint, Response, current_app, render_template, request
from markupsafe import Markup

from app.api.docs_samples import SOMEWHERE, curl, inner_fields, pretty, quickstart, sample_errors
from app.api.docs_text import kind, linked, prose
from app.api.error_codes import RETRIES, entries
from app.api.openapi.document import describe
from app.api.origin import origin
from app.container import EXTENSION
from app.formats import strict_json

docs_blueprint = Blueprint("docs", __name__, template_folder="templates")

_TEMPLATES = Path(__file__).parent / "templates"
_STYLE = (_TEMPLATES / "docs.css").read_text(encoding="utf-8")
_SCRIPT = (_TEMPLATES / "docs.js").read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


#: A page runs its own script alone, loads nothing, calls only this API, and cannot be framed.
_POLICY = (
    f"default-src 'none'; style-src {_digest(_STYLE)}; script-src {_digest(_SCRIPT)};"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


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
    at = origin(request.environ) or SOMEWHERE
    return html_page(
        "docs.html",
        page="docs",
        api=describe(),
        origin=at,
        script=Markup(_SCRIPT),  # noqa: S704 - ours
        quickstart=quickstart(at, _sample_model()),
        curl=curl,
        errors_of=sample_errors,
        inner_fields=inner_fields,
        pretty=pretty,
    )


@docs_blueprint.get("/docs/errors")
def errors() -> Response:
    """Return the page that explains each error; its headings are the codes."""
    return html_page("errors.html", page="errors", entries=entries(), retries=RETRIES)


def html_page(template: str, **values: object) -> Response:
    """Return a page in the style of the reference, with the policy that admits its style."""
    html = render_template(template, style=Markup(_STYLE), **values)  # noqa: S704 - ours
    headers = {"content-security-policy": _POLICY, "x-content-type-options": "nosniff"}
    return Response(html, mimetype="text/html", headers=headers)


@functools.lru_cache(maxsize=16)  # callers choose the host
def _document(at: str) -> bytes:
    servers = {"servers": [{"url": at}]} if at else {}
    return strict_json.dump({**describe(), **servers})


def _sample_model() -> str:
    """Return a model that a newcomer can call: the sandbox's, where there is one."""
    known = current_app.extensions.get(EXTENSION)
    has_sandbox = known is None or any(it.name == "sandbox" for it in known.vendors.configured())
    return "sandbox/echo" if has_sandbox else "openai/gpt-4o-mini"


docs_blueprint.add_app_template_filter(prose)
docs_blueprint.add_app_template_filter(kind)
docs_blueprint.add_app_template_filter(linked)
