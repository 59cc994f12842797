"""Decodes Google's responses: candidates, their log probabilities, and usage."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from app.formats import strict_json
from app.gateways.decoding.counts import put_together
from app.gateways.decoding.decoder import Decoder
from app.gateways.decoding.finish import narrow
from app.gateways.decoding.logprobs import TokenLogprob, text_logprobs
from app.gateways.decoding.parsing import failed, plain_mapping, whole
from app.gateways.gemini import errors
from app.gateways.openai.response import index_of
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Choice, Completion, CompletionRequest, Usage
from app.vocabulary.errors import GatewayError


class GeminiDecoder(Decoder):
    """Decodes responses; the events of a stream are responses with running totals."""

    def __init__(self, vendor: Vendor, request: CompletionRequest) -> None:
        super().__init__(vendor, request)
        self._created = int(time.time())
        self._lengths: defaultdict[int, int] = defaultdict(int)  # of each choice's text so far

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
            usage=self.usage(body),
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
        text = _text(candidate)
        if text is None:
            return Choice(index, "", "error")
        start = self._lengths[index]
        self._lengths[index] += len(text)
        reason, native = narrow(self.vendor, candidate.get("finishReason"))
        logprobs = decode_logprobs(candidate.get("logprobsResult"), start)
        return Choice(index, text, reason, logprobs, native)

    def _blocked(self, body: Mapping[str, Any]) -> tuple[Choice, ...]:
        """Return the choices of a blocked prompt, which Google does not report as an error."""
        if not plain_mapping(body.get("promptFeedback")).get("blockReason"):
            return ()
        return tuple(Choice(index, "", "content_filter") for index in range(self.request.n or 1))


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


def _text(candidate: Mapping[str, Any]) -> str | None:
    """Return the text of a candidate's parts, "" if it has only reasoning; None if malformed."""
    content = candidate.get("content") or {}
    parts = content.get("parts") or [] if isinstance(content, dict) else None
    if not isinstance(parts, list):
        return None
    texts = [p.get("text") or "" for p in map(plain_mapping, parts) if not p.get("thought")]
    return "".join(texts) if all(isinstance(text, str) for text in texts) else None


def decode_usage(usage: Any) -> Usage | None:
    """Return the vendor's usage, maybe with an unknown side; None if it has no count.

    The candidates' tokens exclude reasoning, but some responses include it; the total shows which.
    The prompt's tokens include the cached ones.
    """
    counts = plain_mapping(usage)
    sent, candidates, thoughts, total = (whole(counts.get(name)) for name in COUNTS)
    prompt = None if sent is None else sent + (whole(counts.get("toolUsePromptTokenCount")) or 0)
    return put_together(
        "gemini",
        prompt,
        _generated(prompt, candidates, thoughts, total),
        None if prompt is not None else total,
        {
            "cached_tokens": whole(counts.get("cachedContentTokenCount")) or 0,
            "reasoning_tokens": thoughts or 0,
        },
    )


def _generated(
    prompt: int | None, candidates: int | None, thoughts: int | None, total: int | None
) -> int | None:
    """Return the generated tokens: the rest of the total, or the sum of their counts."""
    counted = None if candidates is None and thoughts is None else (candidates or 0, thoughts or 0)
    if total is not None and prompt is not None and total - prompt >= max(counted or (0,)):
        return total - prompt
    return None if counted is None else sum(counted)


COUNTS = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount")


def decode_logprobs(result: Any, start: int) -> dict[str, Any] | None:
    """Return a candidate's `logprobsResult` in the contract's format; None if it has none."""
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


#: Larger values are not logarithms of probabilities.
LOGPROB_LIMIT = 1e6


def _token(candidate: Any) -> tuple[str, float | None]:
    entry = plain_mapping(candidate)
    token, logprob = entry.get("token"), entry.get("logProbability")
    if not isinstance(logprob, int | float) or abs(logprob) > LOGPROB_LIMIT:
        logprob = None
    return token if isinstance(token, str) else "", logprob
