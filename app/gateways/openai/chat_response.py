"""Decodes OpenAI's chat objects, whole and streamed, for callers of chat.

Fields that only the vendor knows are kept where they are: of the object, a choice, a message, a
call. Source: OpenAI's CreateChatCompletionResponse; docs/vendors.md.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from app.gateways.conversation.origins import is_signed, issuer_of, marked
from app.gateways.decoding.finish import narrow
from app.gateways.openai.chat_reply import Thoughts, read_reply
from app.gateways.openai.logprobs import chat_logprobs
from app.gateways.openai.response import BESIDE, CONTRACT, ObjectDecoder, beyond, index_of
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.completion import Choice, Completion

#: Fields of an object by the contract, and fields that are read; `obfuscation` is padding.
OBJECT = BESIDE | {
    "choices",
    "created",
    "error",
    "id",
    "model",
    "obfuscation",
    "object",
    "service_tier",
    "system_fingerprint",
    "usage",
}

#: Groq's own field of an object, and what is in it of the contract.
GROQ, USAGE = frozenset({"x_groq"}), frozenset({"usage"})


class OpenAIChatDecoder(ObjectDecoder):
    """Decodes chat objects; streams usually have their text in `delta.content`."""

    text_key: ClassVar[bytes] = b'"content":'

    def __init__(self, vendor: Vendor, request: ChatRequest) -> None:
        super().__init__(vendor, request)
        options = request.options
        self._wants_logprobs = bool(options.get("logprobs") or options.get("top_logprobs"))
        self._thoughts: defaultdict[int, Thoughts] = defaultdict(Thoughts)
        self._marked: set[int] = set()  # choices whose signatures have their mark
        #: Fields of chunks without choices: they go with the next chunk.
        self._waiting: dict[str, Any] | None = None

    def read(self, payload: Any) -> Completion | None:
        """Decode a chunk; None for a keep-alive object without anything in it."""
        self.is_alive = False
        completion = self._object(payload, self._choice)
        if not completion.choices and completion.usage is None:
            if completion.extra is None:
                return None
            self._waiting = self._waiting or {}
            self._waiting |= completion.extra
        elif self._waiting is not None and _is_passed_on(completion):
            extra, self._waiting = {**self._waiting, **(completion.extra or {})}, None
            return completion._replace(extra=extra)
        return completion

    def _beside(self, payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if OBJECT.issuperset(payload):
            return None
        extra = beyond(payload, OBJECT)
        if extra is not None and isinstance(groq := extra.get("x_groq"), dict):
            kept = beyond(groq, USAGE)
            extra = {**extra, "x_groq": kept} if kept else beyond(extra, GROQ)
        return extra

    def _choice(self, choice: Mapping[str, Any]) -> Choice:
        index = index_of(choice)
        message = self._message(index, choice)
        if isinstance(message, str):
            message = {"content": message}
        elif message is None:  # only a verdict or a finish reason; or a text, as in completions
            message = {"content": choice.get("text")}
        found = None
        if isinstance(message, dict):
            found = read_reply(message, self._thoughts[index] if index in self._deltas else None)
        if found is None:
            return Choice(index, "", "error")
        self._note_life(message)
        text, reply = found
        if not text and isinstance(beside := choice.get("text"), str):
            text = beside
        if reply is not None and index not in self._marked and is_signed(reply):
            reply = replace(reply, extra=marked(reply.extra or {}, issuer_of(self.vendor)))
            self._marked.add(index)
        reason, native = narrow(self.vendor, choice.get("finish_reason"))
        logprobs = None
        if self._wants_logprobs and (choice.get("logprobs") is not None or "token" in choice):
            logprobs = chat_logprobs(choice)
        extra = None if CONTRACT.issuperset(choice) else beyond(choice, CONTRACT)
        return Choice(index, text, reason, logprobs, native, extra, reply)


def _is_passed_on(chunk: Completion) -> bool:
    """Whether a chunk reaches the caller: one that only repeats the role does not."""
    return chunk.usage is not None or any(
        choice.text or choice.reply or choice.finish_reason for choice in chunk.choices
    )
