"""Compares Tollgate's log probabilities with the server's own."""

import itertools
from collections.abc import Mapping
from typing import Any

import pytest


def check_logprobs(
    text: str, told: list[Mapping[str, Any] | None], theirs: list[dict[str, Any]], top: int
) -> None:
    """Log probabilities of a text, told piece by piece, are the server's, with `top` others.

    Values are the server's to three digits, since it does not sum in the same order twice.
    """
    tokens, logprobs, offsets, others = _joined(told)
    assert "".join(tokens) == text
    assert tokens == [entry["token"] for entry in theirs]
    assert logprobs == pytest.approx([entry["logprob"] for entry in theirs], abs=1e-3)
    assert offsets == list(itertools.accumulate(map(len, tokens[:-1]), initial=0))
    for token, found, entry in zip(tokens, others, theirs, strict=True):
        expected = {
            o["token"]: o["logprob"] for o in [entry, *entry["top_logprobs"]] if _is_plain(o)
        }
        if top:
            assert {name: found.get(name) for name in expected} == pytest.approx(expected, abs=1e-3)
        else:
            assert set(found) <= {token}


def _joined(told: list[Mapping[str, Any] | None]) -> tuple[list[Any], ...]:
    """Return tokens, their log probabilities, offsets and alternatives."""
    parts = [part for part in told if part is not None]
    assert parts
    names = ("tokens", "token_logprobs", "text_offset")
    lists = [[value for part in parts for value in part[name]] for name in names]
    others = [
        found for part in parts for found in part["top_logprobs"] or [{}] * len(part["tokens"])
    ]
    return *lists, others


def _is_plain(entry: Mapping[str, Any]) -> bool:
    """Whether a token's name is unique: parts of characters share theirs."""
    return bool(entry["token"]) and "\ufffd" not in entry["token"]
