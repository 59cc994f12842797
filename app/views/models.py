"""`GET /v5/models`: what this deployment can call, in OpenAI's list shape."""

from typing import Any

from flask import Blueprint

from app.services import services
from app.views.auth import authenticate

models_blueprint = Blueprint("models", __name__)


@models_blueprint.get("/v5/models")
def list_models() -> dict[str, Any]:
    """List `vendor/name`, or `vendor/*` where a vendor's models are not listed here."""
    authenticate("completions")
    return {
        "object": "list",
        "data": [
            {
                "id": f"{vendor.name}/{model}",
                "object": "model",
                "created": 0,  # OpenAI's shape wants one; no vendor's date is known here
                "owned_by": vendor.name,
            }
            for vendor in services().vendors.configured()
            for model in vendor.models
        ],
    }
