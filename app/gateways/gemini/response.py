"""Decodes Google's responses: candidates and what they hold."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from app.formats import strict_json
from app.gateways.conversation.origins import issuer_of
from app.gateways.decoding.decoder import Decoder
from app.gateways.decoding.finish import narrow
from app.gateways.decoding.parsing import failed, plain_mapping
from app.gateways.gemini import errors
from app.gateways.gemini.grounding import annotations, searches
from app.gateways.gemini.logprobs import decode_logprobs
from app.gateways.gemini.models import SEARCH_BY_QUERY, traits_of
from app.gateways.gemini.parts import Malformed, Parts
from app.gateways.gemini.speech import speaks
from app.gateways.gemini.usage import decode_tier, decode_usage
from app.gateways.openai.response import index_of
from app.vendors.vendor import Vendor
from app.vocabulary.chat.reply import Reply
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.completion import Choice, Completion, Usage
from app.vocabulary.errors import GatewayError


class GeminiDecoder(Decoder):
    """Decodes responses; the events of a stream are responses with running totals."""

    def __init__(self, vendor: Vendor, request: ChatRequest) -> None:
        super().__init__(vendor, request)
        self._created = int(time.time())
        issuer, is_speech = issuer_of(vendor), speaks(request)
        #: Of each choice.
        self._parts = defaultdict[int, Parts](lambda: Parts(issuer, speaks=is_speech))
        self._search = _Search(vendor, request) if _searches(request) else None

    def read(self, payload: Any) -> Completion:
        return self.read_whole(payload)

    def read_whole(self, payload: Any) -> Completion:
        if errors.is_error(payload):
            raise errors.failure(self.vendor, None, payload, {})
        body = plain_mapping(payload)
        candidates = body.get("candidates") or []
        shaped = isinstance(payload, dict) and isinstance(candidates, list)
        if not shaped or not all(isinstance(candidate, dict) for candidate in candidates):
            raise failed(self.vendor, "sent a malformed response")
        response_id, model = body.get("responseId"), body.get("modelVersion")
        return Completion(
            id=response_id if isinstance(response_id, str) else "",
            created=self._created,
            model=model if isinstance(model, str) and model else self.request.model_name,
            choices=tuple(map(self._choice, _numbered(candidates))) or self._blocked(body),
            usage=self._counted(self.usage(body)),
            service_tier=decode_tier(body.get("usageMetadata")),
        )

    def usage(self, payload: Any) -> Usage | None:
        return decode_usage(plain_mapping(payload).get("usageMetadata"))

    def reported(self, data: bytes) -> GatewayError:
        try:
            error = strict_json.load_vendor(data)
        except ValueError:
            return super().reported(data)
        return errors.failure(self.vendor, None, error, {})

    def _choice(self, candidate: Mapping[str, Any]) -> Choice:
        """Decode a candidate; a malformed one has failed, without its siblings."""
        index = index_of(candidate)
        reason, native = narrow(self.vendor, candidate.get("finishReason"))
        is_end = reason is not None or not self.request.stream
        try:
            text, reply = self._parts[index].read(_parts(candidate), is_end=is_end)
        except Malformed:
            return Choice(index, "", "error")
        logprobs = decode_logprobs(candidate.get("logprobsResult"))
        if self._search is not None:
            reply = self._search.read(index, candidate, text, reply, is_end=is_end)
        return Choice(index, text, reason, logprobs, native, _extra(candidate), reply)

    def _counted(self, usage: Usage | None) -> Usage | None:
        """Return a usage with the searches so far."""
        if usage is None or self._search is None:
            return usage
        return replace(usage, web_search_calls=self._search.count)

    def _blocked(self, body: Mapping[str, Any]) -> tuple[Choice, ...]:
        """Return the choices of a blocked prompt, which Google does not report as an error."""
        if not plain_mapping(body.get("promptFeedback")).get("blockReason"):
            return ()
        return tuple(Choice(index, "", "content_filter") for index in range(self.request.n or 1))


def _searches(request: ChatRequest) -> bool:
    return request.options.get("web_search_options") is not None


class _Search:
    """The sources of each choice, and how often Google has searched for them."""

    def __init__(self, vendor: Vendor, request: ChatRequest) -> None:
        self._by_query = SEARCH_BY_QUERY in traits_of(vendor, request.model_name)
        self._found: defaultdict[int, Mapping[str, Any]] = defaultdict(dict)
        self._texts: defaultdict[int, list[str]] = defaultdict(list)

    @property
    def count(self) -> int:
        return sum(searches(found, by_query=self._by_query) for found in self._found.values())

    def read(
        self,
        index: int,
        candidate: Mapping[str, Any],
        text: str,
        reply: Reply | None,
        *,
        is_end: bool,
    ) -> Reply | None:
        """Return a candidate's reply; with its end come the sources of its whole text."""
        self._texts[index].append(text)
        if metadata := plain_mapping(candidate.get("groundingMetadata")):
            self._found[index] = metadata
        found = annotations(self._found[index], "".join(self._texts[index])) if is_end else []
        if not found:
            return reply
        reply = reply or Reply()
        return replace(reply, extra={**(reply.extra or {}), "annotations": found})


def _numbered(candidates: list[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """Return candidates with an index each: Google omits 0; several without get their places."""
    absent = [at for at, candidate in enumerate(candidates) if candidate.get("index") is None]
    if not absent:
        return candidates
    places = {at: at if len(absent) > 1 else 0 for at in absent}
    return [
        {**candidate, "index": places[at]} if at in places else candidate
        for at, candidate in enumerate(candidates)
    ]


def _parts(candidate: Mapping[str, Any]) -> list[Any]:
    """Return a candidate's parts.

    Raises: Malformed.
    """
    content = candidate.get("content") or {}
    parts = content.get("parts") or [] if isinstance(content, dict) else None
    if not isinstance(parts, list):
        raise Malformed
    return parts


def _extra(candidate: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the sources that Google names for the answer, as it names them; None without any."""
    found = {ours: candidate[name] for name, ours in SOURCES.items() if candidate.get(name)}
    return found or None


#: Fields of a candidate that tell where its text comes from -> their names in a choice.
SOURCES: Mapping[str, str] = {
    "citationMetadata": "citation_metadata",
    "groundingMetadata": "grounding_metadata",
    "urlContextMetadata": "url_context_metadata",
}
