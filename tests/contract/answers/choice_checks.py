"""Checks of choices: one text each, of its own prompt, and all calls recorded."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.contract.answers.asked import PROMPT_COUNT, TEXT_COUNT, Honest
from tests.contract.answers.site import BY_VENDOR, Site, Told, books, by_index

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


PROMPTS = ["ant", "bee", "cat"]


def check_texts(told: Told, prompts: list[str], n: int) -> None:
    """Check that each choice has one text of its own prompt, and that no two are equal."""
    assert told.is_whole(), told
    texts = by_index(told.texts)
    assert len(texts) == len(prompts) * n
    for index, text in enumerate(texts):
        assert text.startswith(f"{prompts[index // n]}~"), told.texts
        assert text.count("~") == 1, told.texts
    assert len(set(texts)) == len(texts)
    assert by_index(told.reasons) == [["stop"]] * len(texts)


def check_books(site: Site, honest: Honest, told: Told) -> None:
    """Check that all calls are recorded, each with its own prompts."""
    prompt = sum(PROMPT_COUNT * len(ask.prompts) for ask in honest.asks)
    completion = TEXT_COUNT * honest.texts
    assert told.counts == (prompt, completion)
    assert books(site.event()) == ("completed", prompt, completion, *BY_VENDOR)
    assert not site.is_blamed()


# Indices.

Numbering = Callable[[list[int]], Sequence[Any]]
