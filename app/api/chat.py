"""`POST /v5/chat/completions`, and the models for it."""

from flask import Blueprint, Response

from app.api.door import Door
from app.api.schemas.chat.chunks import ChatChunks
from app.api.schemas.chat.dump import dump_chat_completion
from app.api.schemas.chat.request import load_chat_request

chat_blueprint = Blueprint("chat", __name__)

_DOOR = Door(load_chat_request, dump_chat_completion, ChatChunks)


@chat_blueprint.post("/v5/chat/completions")
def create_chat_completion() -> Response:
    """Answer a conversation; respond with one object or a stream."""
    return _DOOR.respond()
