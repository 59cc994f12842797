"""Log probabilities in OpenAI's formats; few vendors send the contract's.

Forms: the contract's; the same without offsets; chat's list of objects; a token beside the choice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from app.gateways.decoding.choices.texts import sanitized
from app.gateways.decoding.logprobs import LogprobsReader, TokenLogprob, chat_tokens
from app.gateways.decoding.parsing import number, plain_mapping
from app.vocabulary.completion import CompletionRequest


class LogprobsOf:
    """Reads the log probabilities of one response, and keeps each choice's offset."""

    def __init__(self, request: CompletionRequest) -> None:
        self._wanted = request.logprobs is not None
        self._alone = request.logprobs == 0
        self._reader = LogprobsReader()

    def read(self, index: int, choice: Mapping[str, Any], text: str) -> Mapping[str, Any] | None:
        """Return the log probabilities of a choice's `text` in the contract's format, or None."""
        sent = plain_mapping(choice.get("logprobs"))
        if _is_contract(sent):
            return {**sent, "top_logprobs": None} if self._alone else sent
        tokens = list(self._tokens(sent, choice))
        if not tokens:
            return None
        if "".join(token.token for token in tokens) == text:  # no token is an escape
            tokens = [replace(token, raw=None) for token in tokens]
        found = self._reader.read(index, tokens)
        return {**found, "top_logprobs": None} if self._alone else found

    def _tokens(self, sent: Mapping[str, Any], choice: Mapping[str, Any]) -> Iterable[TokenLogprob]:
        if isinstance(sent.get("tokens"), list) and isinstance(sent.get("token_logprobs"), list):
            return _text_tokens(sent, choice)
        if not self._wanted:
            return ()
        if isinstance(sent.get("content"), list):
            return chat_tokens(sent["content"])
        return _text_tokens({}, choice)


def chat_logprobs(choice: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the log probabilities of a choice in chat's format, or None if it has none.

    What a vendor sends in that format is kept; fields that clients rely on are added.
    """
    sent = plain_mapping(choice.get("logprobs"))
    content, refusal = sent.get("content"), sent.get("refusal")
    if isinstance(content, list) or isinstance(refusal, list):
        listed = {"content": _completed(content), "refusal": _completed(refusal)}
        return {**sent, **listed}
    tokens = [
        {
            **_entry(token.token, token.logprob),
            "top_logprobs": [_entry(name, logprob) for name, logprob in token.top.items()],
        }
        for token in _text_tokens(sent, choice)
    ]
    return {"content": tokens, "refusal": None} if tokens else None


def _completed(entries: Any) -> list[dict[str, Any]] | None:
    """Return the entries of chat's format, each with all of its fields."""
    if not isinstance(entries, list):
        return None
    complete = []
    for entry in (entry for entry in entries if isinstance(entry, dict)):
        top = entry.get("top_logprobs")
        others = [it for it in top if isinstance(it, dict)] if isinstance(top, list) else []
        complete.append({**_with_bytes(entry), "top_logprobs": [_with_bytes(it) for it in others]})
    return complete


def _with_bytes(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry with bytes, null if it has none."""
    return {"bytes": None, **entry}


def _entry(token: str, logprob: float | None) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode())}


def _text_tokens(sent: Mapping[str, Any], choice: Mapping[str, Any]) -> Iterable[TokenLogprob]:
    """Return the tokens of parallel lists, or the one beside the choice."""
    names, logprobs = sent.get("tokens"), sent.get("token_logprobs")
    if isinstance(names, list) and isinstance(logprobs, list):
        return _zipped(names, logprobs, sent.get("top_logprobs"))
    token = plain_mapping(choice.get("token"))
    if isinstance(token.get("text"), str):
        return _zipped([token["text"]], [token.get("logprob")])
    return ()


def _is_contract(sent: Mapping[str, Any]) -> bool:
    """Whether all lists of the contract are present, of one length, and valid."""
    lists = [sent.get(name) for name in ("tokens", "token_logprobs", "text_offset")]
    if not all(isinstance(found, list) for found in lists):
        return False
    names, logprobs, offsets = (found for found in lists if isinstance(found, list))
    top = sent.get("top_logprobs")
    tops = [None] * len(names) if top is None else top
    return (
        len(names) == len(logprobs) == len(offsets)
        and all(isinstance(name, str) and sanitized(name) is name for name in names)
        and all(map(_is_number, logprobs))
        and {int}.issuperset(map(type, offsets))
        and isinstance(tops, list)
        and len(tops) == len(names)
        and all(map(_is_top, tops))
    )


def _is_number(value: Any) -> bool:
    return value is None or type(value) in (int, float)


def _is_top(top: Any) -> bool:
    if not isinstance(top, dict):
        return top is None
    return all(_is_number(value) and sanitized(name) is name for name, value in top.items())


def _zipped(names: list[Any], logprobs: list[Any], tops_: Any = None) -> Iterable[TokenLogprob]:
    """Yield tokens from parallel lists. A single `top` object counts only if there is one token."""
    tops = tops_ if isinstance(tops_, list) else [tops_] if len(names) == 1 else []
    for at, name in enumerate(names):
        others = plain_mapping(tops[at]) if at < len(tops) else {}
        logprob = number(logprobs[at]) if at < len(logprobs) else None
        if isinstance(name, str):
            top = {sanitized(key): number(value) for key, value in others.items()}
            yield TokenLogprob(sanitized(name), logprob, top)
