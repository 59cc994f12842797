"""Google's responses in our vocabulary: candidates, their log probabilities, and usage."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from app.formats import strict_json as json_wire
from app.gateways.base import plain_mapping
from app.gateways.decoding.counts import put_together
from app.gateways.decoding.finish import narrow
from app.gateways.decoding.logprobs import TokenLogprob, text_logprobs
from app.gateways.decoding.parsing import failed, whole
from app.gateways.decoding.wire import Wire
from app.gateways.gemini import errors
from app.gateways.openai.response import index_of
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Choice, Completion, CompletionRequest, Usage
from app.vocabulary.errors import GatewayError


class GeminiWire(Wire):
    """What Google's responses mean: a stream's events are responses, too, with running totals."""

    def __init__(self, vendor: Vendor, request: CompletionRequest) -> None:
        super().__init__(vendor, request)
        self._created = int(time.time())
        self._lengths: defaultdict[int, int] = defaultdict(int)  # of each choice's text so far

    def read(self, payload: Any) -> Completion:
        """Return what an event says."""
        return self.read_whole(payload)

    def read_whole(self, payload: Any) -> Completion:
        """Return what a response says."""
        if errors.is_error(payload):
            raise errors.failure(self.vendor, None, payload, {})
        body = plain_mapping(payload)
        candidates = body.get("candidates") or []
        shaped = isinstance(payload, dict) and isinstance(candidates, list)
        if not shaped or not all(isinstance(candidate, dict) for candidate in candidates):
            raise failed(self.vendor, "sent no response object")
        named, model = body.get("responseId"), body.get("modelVersion")
        return Completion(
            id=named if isinstance(named, str) else "",
            created=self._created,
            model=model if isinstance(model, str) and model else self.request.model_name,
            choices=tuple(map(self._choice, _numbered(candidates))) or self._blocked(body),
            usage=self.usage(body),
        )

    def usage(self, payload: Any) -> Usage | None:
        """Return the count of a response."""
        return decode_usage(plain_mapping(payload).get("usageMetadata"))

    def reported(self, data: bytes) -> GatewayError:
        """Return the error of an event that is named so."""
        try:
            error = json_wire.load_vendor(data)
        except ValueError:
            return super().reported(data)
        return errors.failure(self.vendor, None, error, {})

    def _choice(self, candidate: Mapping[str, Any]) -> Choice:
        """Return a candidate; one that makes no sense is a failed one, and its siblings stand."""
        index = index_of(candidate)
        text = _text(candidate)
        if text is None:
            return Choice(index, "", "error")
        start = self._lengths[index]
        self._lengths[index] += len(text)
        reason, native = narrow(self.vendor, candidate.get("finishReason"))
        logprobs = decode_logprobs(candidate.get("logprobsResult"), start)
        return Choice(index, text, reason, logprobs, native)

    def _blocked(self, body: Mapping[str, Any]) -> tuple[Choice, ...]:
        """Return the samples of a prompt that was blocked, which is no error to Google."""
        if not plain_mapping(body.get("promptFeedback")).get("blockReason"):
            return ()
        return tuple(Choice(index, "", "content_filter") for index in range(self.request.n or 1))


def _numbered(candidates: list[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """Return candidates with an index each: 0 is left out; of several without, the place tells."""
    absent = [at for at, candidate in enumerate(candidates) if candidate.get("index") is None]
    if not absent:
        return candidates
    places = {at: at if len(absent) > 1 else 0 for at in absent}
    return [
        {**candidate, "index": places[at]} if at in places else candidate
        for at, candidate in enumerate(candidates)
    ]


def _text(candidate: Mapping[str, Any]) -> str | None:
    """Return the text of a candidate's parts; one that only thought has none, or no parts.

    None where it holds something else in their place.
    """
    content = candidate.get("content") or {}
    parts = content.get("parts") or [] if isinstance(content, dict) else None
    if not isinstance(parts, list):
        return None
    texts = [p.get("text") or "" for p in map(plain_mapping, parts) if not p.get("thought")]
    return "".join(texts) if all(isinstance(text, str) for text in texts) else None


def decode_usage(usage: Any) -> Usage | None:
    """Return the vendor's count, halves too, or None when there is none.

    Thoughts are not among the candidates' tokens, though some answers count them there; the total
    tells. What the prompt had from a cache is among its tokens.
    """
    told = plain_mapping(usage)
    asked, candidates, thoughts, total = (whole(told.get(name)) for name in COUNTS)
    prompt = None if asked is None else asked + (whole(told.get("toolUsePromptTokenCount")) or 0)
    return put_together(
        "gemini",
        prompt,
        _generated(prompt, candidates, thoughts, total),
        None if prompt is not None else total,
        {
            "cached_tokens": whole(told.get("cachedContentTokenCount")) or 0,
            "reasoning_tokens": thoughts or 0,
        },
    )


def _generated(
    prompt: int | None, candidates: int | None, thoughts: int | None, total: int | None
) -> int | None:
    """Return the tokens generated: the total's rest, or the sum of what is counted of them."""
    counted = None if candidates is None and thoughts is None else (candidates or 0, thoughts or 0)
    if total is not None and prompt is not None and total - prompt >= max(counted or (0,)):
        return total - prompt
    return None if counted is None else sum(counted)


COUNTS = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount")


def decode_logprobs(result: Any, start: int) -> dict[str, Any] | None:
    """Return a candidate's `logprobsResult` in the contract's form; None when it has none."""
    chosen = plain_mapping(result).get("chosenCandidates")
    if not isinstance(chosen, list) or not chosen:
        return None
    others = plain_mapping(result).get("topCandidates")
    tops = [_top(step) for step in others] if isinstance(others, list) else []
    tops += [{}] * (len(chosen) - len(tops))
    tokens = (_token(step) for step in chosen)
    return text_logprobs(
        (TokenLogprob(*token, top) for token, top in zip(tokens, tops, strict=False)), start
    )


def _top(step: Any) -> dict[str, float | None]:
    candidates = plain_mapping(step).get("candidates")
    return dict(map(_token, candidates)) if isinstance(candidates, list) else {}


#: No logarithm of a probability is longer.
LOGPROB_LIMIT = 1e6


def _token(candidate: Any) -> tuple[str, float | None]:
    told = plain_mapping(candidate)
    token, logprob = told.get("token"), told.get("logProbability")
    if not isinstance(logprob, int | float) or abs(logprob) > LOGPROB_LIMIT:
        logprob = None
    return token if isinstance(token, str) else "", logprob
