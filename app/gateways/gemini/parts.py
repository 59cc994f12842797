"""The parts of Google's answers: text, thoughts, calls, and images, each with its signature.

A signature stays with its part: in `extra_content` of the call, as Google's own OpenAI-compatible
endpoint has it, or of the image; a text's is in `extra_content` of the message, once, with the end.
Images are in the message's `images`, as data URLs, speech is its `audio`, and other data are in
`inline_data`.
"""

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.formats import strict_json
from app.gateways.conversation.origins import marked
from app.gateways.decoding.parsing import plain_mapping
from app.gateways.gemini.speech import samples_of, spoken
from app.vocabulary.chat.reply import Reply
from app.vocabulary.chat.tools import ToolCall


class Malformed(ValueError):
    """A part is not what Google's reference says."""


@dataclass(slots=True)
class _Found:
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    images: list[dict[str, Any]] = field(default_factory=list)
    sounds: list[bytes] = field(default_factory=list)
    others: list[dict[str, Any]] = field(default_factory=list)


class Parts:
    """Reads the parts of one candidate, through all events of a stream.

    With its end comes the mark of the `issuer` of its signatures, if it has any. `speaks`: the
    caller asked for speech.
    """

    def __init__(self, issuer: str, *, speaks: bool = False) -> None:
        self._issuer, self._is_signed = issuer, False
        self._speaks, self._has_spoken = speaks, False
        self._calls = self._images = self._others = 0
        self._signature: str | None = None

    def read(self, parts: list[Any], *, is_end: bool) -> tuple[str, Reply | None]:
        """Return the text of some parts, and what else they hold.

        Raises: Malformed.
        """
        if not is_end and len(parts) == 1 and _is_text(parts[0]):
            return parts[0]["text"], None  # the usual event
        found = _Found()
        for part in map(plain_mapping, parts):
            self._part(part, found)
        extra: dict[str, Any] = {}
        if found.images:
            extra["images"] = found.images
        if self._speaks and (audio := self._spoken(found.sounds, is_end=is_end)):
            extra["audio"] = audio
        if found.others:
            extra["inline_data"] = found.others
        if is_end and self._signature is not None:
            extra |= signed(self._signature)
            self._signature = None
        if is_end and self._is_signed:
            extra, self._is_signed = marked(extra, self._issuer), False
        reply = Reply("".join(found.thoughts), "", tuple(found.calls), extra or None)
        return "".join(found.texts), None if reply == _NOTHING else reply

    def _part(self, part: Mapping[str, Any], found: _Found) -> None:
        signature = part.get("thoughtSignature")
        signature = signature if isinstance(signature, str) and signature else None
        kept = {} if signature is None else signed(signature)
        self._is_signed = self._is_signed or signature is not None
        if part.get("functionCall") is not None:
            found.calls.append(_call(self._calls, plain_mapping(part["functionCall"]), kept))
            self._calls += 1
        elif part.get("inlineData") is not None and not part.get("thought"):
            self._data(plain_mapping(part["inlineData"]), kept, found)
        else:
            self._signature = signature or self._signature
            text = part.get("text") or ""
            if not isinstance(text, str):
                raise Malformed
            (found.thoughts if part.get("thought") else found.texts).append(text)

    def _spoken(self, sounds: list[bytes], *, is_end: bool) -> Mapping[str, Any]:
        """Return what is new of the speech; its id comes with the first piece."""
        is_new = bool(sounds) and not self._has_spoken
        self._has_spoken = self._has_spoken or is_new
        is_over = is_end and self._has_spoken
        self._has_spoken = self._has_spoken and not is_over
        audio_id = f"audio_{secrets.token_hex(12)}" if is_new else None
        return spoken(audio_id, sounds, int(time.time()) if is_over else None)

    def _sound(self, kind: str, data: str, found: _Found) -> bool:
        """Add a sound to the speech; whether it is one."""
        try:
            samples = samples_of(kind, data) if self._speaks else None
        except ValueError as exc:
            raise Malformed from exc
        if samples is not None:
            found.sounds.append(samples)
        return samples is not None

    def _data(self, blob: Mapping[str, Any], kept: Mapping[str, Any], found: _Found) -> None:
        kind, data = blob.get("mimeType"), blob.get("data")
        if not isinstance(kind, str) or not isinstance(data, str):
            raise Malformed
        if self._sound(kind, data, found):
            return
        if kind.startswith("image/"):
            url = {"url": f"data:{kind};base64,{data}"}
            image = {"type": "image_url", "image_url": url, "index": self._images}
            found.images.append({**image, **kept})
            self._images += 1
        else:
            other = {"mime_type": kind, "data": data, "index": self._others}
            found.others.append({**other, **kept})
            self._others += 1


_NOTHING = Reply()


def signed(signature: str) -> dict[str, Any]:
    """Return the field that carries a signature, of a message or of a call."""
    return {"extra_content": {"google": {"thought_signature": signature}}}


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and len(part) == 1 and type(part.get("text")) is str


def _call(index: int, call: Mapping[str, Any], kept: Mapping[str, Any]) -> ToolCall:
    """Return a call, which Google sends whole, and older models without an id."""
    name, call_id, arguments = call.get("name"), call.get("id"), call.get("args")
    if not isinstance(name, str) or not isinstance(arguments, dict | None):
        raise Malformed
    return ToolCall(
        index,
        call_id if isinstance(call_id, str) and call_id else None,
        name,
        strict_json.dump(arguments or {}).decode(),
        extra=kept or None,
    )
