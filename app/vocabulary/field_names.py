"""The names of the fields that the contract of each endpoint has, to recognise mistyped ones."""

from collections.abc import Mapping

from app.vocabulary.chat.parameters import CHAT_PARAMETERS
from app.vocabulary.completion import PARAMETERS
from app.vocabulary.request import Endpoint

_STREAM = ("stream", "stream_options")

FIELD_NAMES: Mapping[Endpoint, tuple[str, ...]] = {
    "completions": ("model", "prompt", *_STREAM, *PARAMETERS),
    "chat.completions": (
        "model",
        "messages",
        *_STREAM,
        "max_completion_tokens",
        *CHAT_PARAMETERS,
    ),
}
