"""`GET /v5/organization/requests/{id}`: one request, found by any of its ids. An API of our own."""

from flask import Blueprint, Response

from app.api.auth import authenticate
from app.container import services
from app.formats.strict_json import dump
from app.ledger.reports.lookup import NOT_FOUND, as_object
from app.vocabulary.errors import RequestNotFound

requests_blueprint = Blueprint("requests", __name__)


@requests_blueprint.get("/v5/organization/requests/<path:any_id>")
def retrieve_request(any_id: str) -> Response:
    """Return what the ledger has of a request: usage, cost, and why it failed."""
    key = authenticate("usage", "admin")
    visible = None if "admin" in key.scopes else frozenset(key.enabled_account_ids)
    found = services().reports.open().lookup.find(any_id, visible)
    if not found:
        raise RequestNotFound(NOT_FOUND)
    return Response(dump(as_object(found)), mimetype="application/json")
