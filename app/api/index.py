"""`GET /`: where everything is, for whoever opens the address without a path."""

from flask import Blueprint, Response, request

from app.api.docs import html_page
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
    return html_page("index.html", api=places["api"])
