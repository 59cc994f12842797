"""`GET /`: where everything is, for whoever opens the address without a path."""

from flask import Blueprint, Response, request
from markupsafe import escape

from app.api.origin import origin
from app.formats import strict_json

index_blueprint = Blueprint("index", __name__)

_PLACES = {
    "api": "/v5",
    "docs": "/docs",
    "errors": "/docs/errors",
    "openapi": "/openapi.json",
    "dashboard": "/dashboard",
}


@index_blueprint.get("/")
def index() -> Response:
    """Return the addresses of the API, its description and the dashboard; as a page to browsers."""
    at = origin(request.environ)
    places = {name: at + path for name, path in _PLACES.items()}
    accepted = request.accept_mimetypes
    if accepted.best_match(["application/json", "text/html"]) != "text/html":
        return Response(
            strict_json.dump({"name": "Tollgate", **places}), mimetype="application/json"
        )
    return Response(
        _page(places),
        mimetype="text/html",
        headers={
            "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
            "x-content-type-options": "nosniff",
        },
    )


def _page(places: dict[str, str]) -> str:
    links = "".join(
        f'<li><a href="{_PLACES[name]}">{name}</a></li>' for name in places if name != "api"
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<title>Tollgate</title><h1>Tollgate</h1>"
        f"<p>The API is at <code>{escape(places['api'])}</code>.</p><ul>{links}</ul></html>"
    )
