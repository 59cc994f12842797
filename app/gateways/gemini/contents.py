"""A conversation as Google's `contents` and `systemInstruction`.

- Instructions are parts of the one `systemInstruction`, in their order.
- A turn of the assistant is its texts, then its images, then its calls. Its reasoning is not sent
  back: Google wants its signatures alone.
- Signatures return on the part that they came with: a call's on the call, an image's on the image,
  a message's on its last text, or on an empty one if it has no text.
- Newer models refuse a call of the current turn (all since the last user's message) without its
  signature. If a client has lost it, or the call is another vendor's, its first call gets the
  value that Google documents for that: a model's own calls never do, since they come with one.
- The results of calls are objects with the text in `output`; a text is never parsed. They name
  their function, and have the call's id where the model has ids.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.gateways.conversation.arguments import arguments_object
from app.gateways.conversation.media import data_url
from app.gateways.conversation.turns import Conversation, ToolResult, Turn, solid_parts
from app.gateways.gemini.media import encode_part
from app.gateways.gemini.models import CALL_IDS, MEDIA_RESULTS, SIGNED_CALLS, traits_of
from app.vendors.vendor import Vendor
from app.vocabulary.chat.message import Message
from app.vocabulary.chat.parts import TextPart
from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.errors import InvalidRequest

#: For calls whose signature is lost. Source: ai.google.dev, thought signatures, FAQ.
LOST_SIGNATURE = "skip_thought_signature_validator"


def system_instruction(conversation: Conversation) -> dict[str, Any]:
    """Return the field of a conversation's instructions; {} without any."""
    texts = [part for message in conversation.instructions for part in solid_parts(message)]
    parts = [{"text": part.text} for part in texts if isinstance(part, TextPart)]
    return {"systemInstruction": {"parts": parts}} if parts else {}


def contents(vendor: Vendor, model_name: str, conversation: Conversation) -> list[dict[str, Any]]:
    """Return the turns of a conversation.

    Raises: InvalidRequest, mostly UnsupportedParameter, with the path of the field.
    """
    turns = conversation.turns
    asked = [at for at, turn in enumerate(turns) if turn.side == "user" and turn.messages]
    current = asked[-1] if asked else 0
    encoder = _Encoder(vendor, model_name)
    return [
        {"role": "user", "parts": list(encoder.user(turn))}
        if turn.side == "user"
        else {"role": "model", "parts": encoder.model(turn, is_current=at > current)}
        for at, turn in enumerate(turns)
    ]


class _Encoder:
    def __init__(self, vendor: Vendor, model_name: str) -> None:
        self._vendor, self._model = vendor, model_name
        self._traits = traits_of(vendor, model_name)

    def user(self, turn: Turn) -> Iterator[dict[str, Any]]:
        """Yield the parts of a user's turn: results first."""
        for result in turn.results:
            yield from self._result(result)
        for message in turn.messages:
            for part in solid_parts(message):
                yield encode_part(self._vendor, self._model, part)

    def model(self, turn: Turn, *, is_current: bool) -> list[dict[str, Any]]:
        """Return the parts of an assistant's turn."""
        parts = [part for message in turn.messages for part in _said(message)]
        calls = [part for message in turn.messages for part in self._calls(message)]
        wants = is_current and SIGNED_CALLS in self._traits
        if wants and calls and not any("thoughtSignature" in call for call in calls):
            calls[0]["thoughtSignature"] = LOST_SIGNATURE
        if not parts and not calls:
            path = f"{turn.messages[0].path}.content"
            raise InvalidRequest(f"`{path}` must not be blank.", param=path)
        return parts + calls

    def _calls(self, message: Message) -> Iterator[dict[str, Any]]:
        for position, call in enumerate(message.tool_calls):
            told = {
                **self._id(call),
                "name": call.name,
                "args": arguments_object(message, position, call),
            }
            path = f"{message.path}.tool_calls[{position}]"
            yield {"functionCall": told, **_signature(call.extra or {}, path)}

    def _id(self, call: ToolCall) -> dict[str, Any]:
        return {"id": call.id} if CALL_IDS in self._traits else {}

    def _result(self, result: ToolResult) -> Iterator[dict[str, Any]]:
        texts, media = [], []
        for part in result.message.parts:
            if isinstance(part, TextPart):
                texts.append(part.text)
            else:
                media.append(encode_part(self._vendor, self._model, part))
        output = texts if len(texts) > 1 else "".join(texts)
        response: dict[str, Any] = {
            **self._id(result.call),
            "name": result.call.name,
            "response": {"output": output},
        }
        if media and MEDIA_RESULTS in self._traits:
            response["parts"] = media
        else:
            yield from media
        yield {"functionResponse": response}


def _said(message: Message) -> list[dict[str, Any]]:
    """Return the texts and images of an assistant's message, with their signatures."""
    refusal = message.source.get("refusal")
    texts = [part.text for part in solid_parts(message) if isinstance(part, TextPart)]
    if not texts and isinstance(refusal, str) and refusal:
        texts = [refusal]
    parts: list[dict[str, Any]] = [{"text": text} for text in texts]
    if signature := _signature(message.source, message.path):
        if not parts:
            parts.append({"text": ""})
        parts[-1] |= signature
    images = message.source.get("images")
    for at, image in enumerate(images if isinstance(images, list) else ()):
        parts.append(_image(image, f"{message.path}.images[{at}]"))
    return parts


def _image(image: Any, path: str) -> dict[str, Any]:
    """Return an image that the model made in an earlier turn, as the answer had it."""
    held = image.get("image_url") if isinstance(image, dict) else None
    url = held.get("url") if isinstance(held, dict) else None
    media = data_url(url, f"{path}.image_url.url") if isinstance(url, str) else None
    if media is None:
        raise InvalidRequest(
            f"`{path}.image_url.url` must be a `data:` URL, as the answer had it.",
            param=f"{path}.image_url.url",
        )
    inline = {"inlineData": {"mimeType": media.type, "data": media.data}}
    return {**inline, **_signature(image, path)}


def _signature(source: Mapping[str, Any], path: str) -> dict[str, str]:
    """Return the field for the signature in a message, call or image; {} if it has none.

    Raises: InvalidRequest if it is not a text.
    """
    steps: Sequence[str] = ("extra_content", "google", "thought_signature")
    found: Any = source
    for step in steps:
        found = found.get(step) if isinstance(found, dict) else None
    if found is None or found == "":
        return {}
    if not isinstance(found, str):
        where = ".".join((path, *steps))
        raise InvalidRequest(f"`{where}` must be a text.", param=where)
    return {"thoughtSignature": found}
