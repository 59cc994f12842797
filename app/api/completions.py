"""`POST /v5/completions`."""

from flask import Blueprint, Response

from app.api.door import Door
from app.api.schemas.completion import TextChunks, dump_completion, load_completion_request

completions_blueprint = Blueprint("completions", __name__)

_DOOR = Door(load_completion_request, dump_completion, TextChunks)


@completions_blueprint.post("/v5/completions")
def create_completion() -> Response:
    """Complete a prompt; respond with one object or a stream."""
    return _DOOR.respond()
