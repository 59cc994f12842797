"""Google's responses in our vocabulary: candidates, their log probabilities, and usage."""

import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from app.completion import Choice, Completion, CompletionRequest, Usage
from app.gateways import google_errors
from app.gateways.answers import failed, whole
from app.gateways.base import Vendor, plain_mapping
from app.gateways.finish import narrow
from app.gateways.logprobs import TokenLogprob, text_logprobs

#: A finish reason that is none.
UNSPECIFIED = "FINISH_REASON_UNSPECIFIED"


class Reader:
    """Turns the responses of one answer, the only one or all of a stream, into our vocabulary."""

    def __init__(self, vendor: Vendor, request: CompletionRequest) -> None:
        self._vendor = vendor
        self._request = request
        self._created = int(time.time())
        self._lengths: defaultdict[int, int] = defaultdict(int)  # of each choice's text so far

    def read(self, payload: Any) -> Completion:
        """Return what one response holds.

        Raises: GatewayError when it is an error in disguise, or no such object.
        """
        if google_errors.is_error(payload):
            raise google_errors.failure(self._vendor, None, payload, {})
        body = plain_mapping(payload)
        candidates = body.get("candidates") or []
        shaped = isinstance(payload, dict) and isinstance(candidates, list)
        if not shaped or not all(isinstance(candidate, dict) for candidate in candidates):
            raise failed(self._vendor, "sent no response object")
        named, model = body.get("responseId"), body.get("modelVersion")
        return Completion(
            id=named if isinstance(named, str) else "",
            created=self._created,
            model=model if isinstance(model, str) and model else self._request.model_name,
            choices=tuple(self._choice(at, candidate) for at, candidate in enumerate(candidates))
            or self._blocked(body),
            usage=decode_usage(body.get("usageMetadata")),
        )

    def _choice(self, position: int, candidate: Mapping[str, Any]) -> Choice:
        index = candidate.get("index", position)  # 0 is left out
        if type(index) is not int or not 0 <= index < (self._request.n or 1):
            raise failed(self._vendor, "sent a candidate that was not asked for")
        text = self._text(candidate)
        start = self._lengths[index]
        self._lengths[index] += len(text)
        reason = candidate.get("finishReason")
        return Choice(
            index=index,
            text=text,
            finish_reason=None if reason == UNSPECIFIED else narrow(self._vendor, reason),
            logprobs=decode_logprobs(candidate.get("logprobsResult"), start),
        )

    def _text(self, candidate: Mapping[str, Any]) -> str:
        """Return the text of a candidate's parts; one that only thought has none, or no parts."""
        content = candidate.get("content") or {}
        parts = content.get("parts") or [] if isinstance(content, dict) else None
        if not isinstance(parts, list):
            raise failed(self._vendor, "sent a candidate that holds no parts")
        texts = [p.get("text") or "" for p in map(plain_mapping, parts) if not p.get("thought")]
        if not all(isinstance(text, str) for text in texts):
            raise failed(self._vendor, "sent a part whose text is none")
        return "".join(texts)

    def _blocked(self, body: Mapping[str, Any]) -> tuple[Choice, ...]:
        """Return the samples of a prompt that was blocked, which is no error to Google."""
        if not plain_mapping(body.get("promptFeedback")).get("blockReason"):
            return ()
        return tuple(Choice(index, "", "content_filter") for index in range(self._request.n or 1))


COUNTS = (
    "promptTokenCount",
    "toolUsePromptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "totalTokenCount",
)


def decode_usage(usage: Any) -> Usage | None:
    """Return the vendor's count, or None when there is none: absent, nonsense, or all zeros.

    Thoughts are not among the candidates' tokens, though some answers count them there; the total
    tells. What the prompt had from a cache is among its tokens.
    """
    if not isinstance(usage, dict):
        return None
    counts = [whole(usage.get(name) or 0) for name in COUNTS]
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return None  # an estimate, marked as one, is better than half a count
    asked, tool_use, candidates, thoughts, total = known
    prompt = asked + tool_use
    completion = total - prompt
    if completion < max(candidates, thoughts):  # no total, or one of something else
        completion = candidates + thoughts
    counted = Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=prompt + completion,
        cached_tokens=min(prompt, whole(usage.get("cachedContentTokenCount")) or 0),
        reasoning_tokens=thoughts,
    )
    return counted or None


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
