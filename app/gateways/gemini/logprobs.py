"""Google's log probabilities, in chat's format."""

from typing import Any

from app.gateways.decoding.choices.texts import sanitized
from app.gateways.decoding.parsing import plain_mapping

#: Larger values are not logarithms of probabilities.
LIMIT = 1e6

#: The contract's value for a token that is very unlikely: it has no null there.
UNLIKELY = -9999.0


def decode_logprobs(result: Any) -> dict[str, Any] | None:
    """Return a candidate's `logprobsResult` as chat's `logprobs`; None if it has none."""
    chosen = plain_mapping(result).get("chosenCandidates")
    if not isinstance(chosen, list) or not chosen:
        return None
    others = plain_mapping(result).get("topCandidates")
    tops = others if isinstance(others, list) else []
    content = [
        {**_token(step), "top_logprobs": _top(tops[at]) if at < len(tops) else []}
        for at, step in enumerate(chosen)
    ]
    return {"content": content, "refusal": None}


def _top(step: Any) -> list[dict[str, Any]]:
    candidates = plain_mapping(step).get("candidates")
    return list(map(_token, candidates)) if isinstance(candidates, list) else []


def _token(candidate: Any) -> dict[str, Any]:
    entry = plain_mapping(candidate)
    text, logprob = entry.get("token"), entry.get("logProbability")
    token = sanitized(text) if isinstance(text, str) else ""
    if not isinstance(logprob, int | float) or abs(logprob) > LIMIT:
        logprob = UNLIKELY
    return {"token": token, "logprob": logprob, "bytes": list(token.encode())}
