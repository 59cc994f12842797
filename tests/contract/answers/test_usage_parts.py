"""Counts are read from wherever a vendor puts them; missing ones are estimated."""

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from tests.contract.answers.site import (
    TEXT,
    Site,
    books,
)
from tests.contract.answers.usage_objects import BOTH, OURS_IN, OURS_OUT, VAST, answer, openai
from tests.contract.answers.wires import WIRES

NAN = float("nan")


MARKS = {"v": "vendor", "e": "estimated"}


#: A usage, the prompt's tokens and the completion's, and who counted them.
Case = tuple[Any, int, int, str]


OPENAI: list[Case] = [
    (openai(20, 424, 1016), 20, 996, "vv"),  # thoughts that only the total tells of
    (openai(20, None, 60), 20, 40, "vv"),
    (openai(5), 5, OURS_OUT, "ve"),
    (openai(None, 2), OURS_IN, 2, "ev"),
    (openai(5, None, 7), 5, 2, "vv"),
    (openai(None, 5, 7), 2, 5, "vv"),
    (openai(10, 5), 10, 5, "vv"),
    (openai(10, 5, 12), 10, 5, "vv"),
    (openai(10, 5, 0), 10, 5, "vv"),
    (openai(10, 5, NAN), 10, 5, "vv"),
    (openai(10, 5, VAST), 10, 5, "vv"),
    (openai(10, 5, "15"), 10, 5, "vv"),
    ({**openai(10, 5), "total_tokens": None}, 10, 5, "vv"),
    (openai(NAN, 2, NAN), OURS_IN, 2, "ev"),
    (openai(VAST, 2), OURS_IN, 2, "ev"),
    (openai(5, NAN), 5, OURS_OUT, "ve"),
    (openai(5, VAST, VAST), 5, OURS_OUT, "ve"),
    (openai(NAN, 2, 9), 7, 2, "vv"),
    (openai(-1, 2), OURS_IN, 2, "ev"),
    (openai(5, -3), 5, OURS_OUT, "ve"),
    (openai(5, -3, 9), 5, 4, "vv"),
    (openai(1e30, 2), OURS_IN, 2, "ev"),
    (openai(True, 2), OURS_IN, 2, "ev"),
    (openai({}, 2), OURS_IN, 2, "ev"),
    (openai([5], 2, 7), 5, 2, "vv"),
    (openai(5.0, 2.0, 7.0), 5, 2, "vv"),
    ({"prompt_tokens": 5, "completion_tokens": None, "total_tokens": None}, 5, OURS_OUT, "ve"),
    ({"prompt_tokens": None, "completion_tokens": 4, "total_tokens": 9}, 5, 4, "vv"),
    (openai(0, 0, 0), OURS_IN, OURS_OUT, "ee"),
    ({}, OURS_IN, OURS_OUT, "ee"),
    ([], OURS_IN, OURS_OUT, "ee"),
    ("many", OURS_IN, OURS_OUT, "ee"),
    (7, OURS_IN, OURS_OUT, "ee"),
    (True, OURS_IN, OURS_OUT, "ee"),
    (openai(NAN, NAN, NAN), OURS_IN, OURS_OUT, "ee"),
    ({**openai(5, 2, 7), "prompt_tokens_details": "none"}, 5, 2, "vv"),
    ({**openai(5, 2, 7), "completion_tokens_details": [1]}, 5, 2, "vv"),
    ({**openai(5, 2, 7), "prompt_tokens_details": {"cached_tokens": NAN}}, 5, 2, "vv"),
]


def google(**counts: Any) -> dict[str, Any]:
    """Return Google's usage object; names are given without their suffix."""
    return {f"{name}TokenCount": count for name, count in counts.items()}


CASES: Mapping[str, list[Case]] = {
    "text": OPENAI,
    "chat": OPENAI,
    "launch": OPENAI[:6],
    "fim": OPENAI[:6],
    "gemini": [
        (google(prompt=20, total=60), 20, 40, "vv"),
        (google(prompt=5), 5, OURS_OUT, "ve"),
        (google(candidates=2), OURS_IN, 2, "ev"),
        (google(prompt=5, total=7), 5, 2, "vv"),
        (google(candidates=5, total=7), 2, 5, "vv"),
        (google(prompt=10, candidates=5, total=12), 10, 5, "vv"),
        (google(prompt=20, candidates=4, thoughts=3), 20, 7, "vv"),
        (google(prompt=20, candidates=24, thoughts=400, total=1016), 20, 996, "vv"),
        (google(prompt=NAN, candidates=2), OURS_IN, 2, "ev"),
        (google(prompt=-1, candidates=2), OURS_IN, 2, "ev"),
        (google(prompt=5, candidates=VAST), 5, OURS_OUT, "ve"),
        (google(prompt=5, candidates=None, total=9), 5, 4, "vv"),
        ({}, OURS_IN, OURS_OUT, "ee"),
        ("many", OURS_IN, OURS_OUT, "ee"),
    ],
    "anthropic": [
        ({"input_tokens": 5}, 5, OURS_OUT, "ve"),
        ({"output_tokens": 2}, OURS_IN, 2, "ev"),
        ({"input_tokens": None, "output_tokens": 2}, OURS_IN, 2, "ev"),
        ({"input_tokens": 5, "output_tokens": None}, 5, OURS_OUT, "ve"),
        ({"input_tokens": -1, "output_tokens": 2}, OURS_IN, 2, "ev"),
        ({"input_tokens": 5, "output_tokens": NAN}, 5, OURS_OUT, "ve"),
        ({"input_tokens": VAST, "output_tokens": 2}, OURS_IN, 2, "ev"),
        ({"input_tokens": 0, "cache_read_input_tokens": 9, "output_tokens": 2}, 9, 2, "vv"),
        ({"input_tokens": 5, "cache_read_input_tokens": None, "output_tokens": 2}, 5, 2, "vv"),
        ({"input_tokens": 5, "cache_read_input_tokens": "x", "output_tokens": 2}, 5, 2, "vv"),
        ({}, OURS_IN, OURS_OUT, "ee"),
        ("many", OURS_IN, OURS_OUT, "ee"),
    ],
    "cohere": [
        ({"billed_units": {"input_tokens": 5}}, 5, OURS_OUT, "ve"),
        ({"billed_units": {"output_tokens": 2}}, OURS_IN, 2, "ev"),
        ({"tokens": {"input_tokens": 5, "output_tokens": 2}}, 5, 2, "vv"),
        ({"billed_units": {"input_tokens": NAN, "output_tokens": 2}}, OURS_IN, 2, "ev"),
        ({"billed_units": None}, OURS_IN, OURS_OUT, "ee"),
        ("many", OURS_IN, OURS_OUT, "ee"),
    ],
    "converse": [
        ({"inputTokens": 5}, 5, OURS_OUT, "ve"),
        ({"outputTokens": 2}, OURS_IN, 2, "ev"),
        ({"inputTokens": 20, "totalTokens": 60}, 20, 40, "vv"),
        ({"inputTokens": 10, "outputTokens": 5, "totalTokens": 12}, 10, 5, "vv"),
        ({"inputTokens": -1, "outputTokens": 2}, OURS_IN, 2, "ev"),
        ("many", OURS_IN, OURS_OUT, "ee"),
    ],
    "llama": [
        ({"inputTokenCount": 5}, 5, OURS_OUT, "ve"),
        ({"outputTokenCount": 2}, OURS_IN, 2, "ev"),
    ],
    "mistral-raw": [
        ({"inputTokenCount": 5}, 5, OURS_OUT, "ve"),
        ({"outputTokenCount": 2}, OURS_IN, 2, "ev"),
    ],
    "llmengine_v1": [
        ({"num_prompt_tokens": 5}, 5, OURS_OUT, "ve"),
        ({"num_completion_tokens": 2}, OURS_IN, 2, "ev"),
        ({"num_prompt_tokens": None, "num_completion_tokens": 2}, OURS_IN, 2, "ev"),
        ({"num_prompt_tokens": -1, "num_completion_tokens": 2}, OURS_IN, 2, "ev"),
    ],
}


@BOTH
@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name, cases in CASES.items() for case in cases]
)
def test_a_half_gets_its_other_half_and_each_side_says_who_counted_it(
    site: Site, name: str, case: Case, stream: bool
) -> None:
    usage, prompt, completion, marks = case
    wire = WIRES[name]
    site.says(answer(wire, usage, stream))
    told = site.ask(wire, stream=stream)
    assert told.is_whole(), told
    assert told.texts == {0: TEXT}
    assert told.counts == (prompt, completion)
    sides = [MARKS[mark] for mark in marks]
    recorded = site.event()
    assert books(recorded) == ("completed", prompt, completion, *sides)
    assert recorded.source == ("estimated" if "e" in marks else "vendor")


@BOTH
@pytest.mark.parametrize(
    ("name", "usage"),
    [
        ("text", openai(None, None, 9)),
        ("chat", openai(None, None, 9)),
        ("text", openai(NAN, VAST, 9)),
        ("gemini", google(total=9)),
        ("converse", {"totalTokens": 9}),
    ],
)
def test_a_total_alone_stands_and_is_split_by_an_estimate(
    site: Site, name: str, usage: Any, stream: bool
) -> None:
    wire = WIRES[name]
    site.says(answer(wire, usage, stream))
    told = site.ask(wire, stream=stream)
    assert told.counts == (OURS_IN, 9 - OURS_IN)
    assert books(site.event()) == ("completed", OURS_IN, 9 - OURS_IN, "estimated", "estimated")


@BOTH
def test_a_total_that_is_less_than_its_parts_is_logged(
    site: Site, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        site.says(answer(WIRES["text"], openai(10, 5, 12), stream))
        assert site.ask("text/m", stream=stream).counts == (10, 5)
        site.event()
    assert [r for r in caplog.records if r.name.startswith("app") and "12" in r.getMessage()]


CACHED: list[tuple[str, Any]] = [
    ("text", {**openai(20, 7, 27), "prompt_tokens_details": {"cached_tokens": 8}}),
    ("text", {**openai(20, 7, 27), "cached_tokens": 8}),
    ("text", {**openai(20, 7, 27), "prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 12}),
    ("text", {**openai(20, 7, 27), "cached_tokens": 8, "prompt_tokens_details": None}),
    ("text", {**openai(20, 7, 27), "cached_tokens": 8, "prompt_tokens_details": {}}),
    ("chat", {**openai(20, 7, 27), "cached_tokens": 8}),
    ("chat", {**openai(20, 7, 27), "prompt_cache_hit_tokens": 8}),
    ("fim", {**openai(20, 7, 27), "cached_tokens": 8.0}),
    ("llmengine", {**openai(20, 7, 27), "cached_tokens": 8}),
    ("launch", {**openai(20, 7, 27), "cached_tokens": 8}),
    ("gemini", {**google(prompt=20, candidates=7, total=27), "cachedContentTokenCount": 8}),
]


@BOTH
@pytest.mark.parametrize(("name", "usage"), CACHED)
def test_what_came_from_a_cache_is_told_wherever_the_vendor_keeps_it(
    site: Site, name: str, usage: Any, stream: bool
) -> None:
    wire = WIRES[name]
    site.says(answer(wire, usage, stream))
    told = site.ask(wire, stream=stream)
    assert told.counts == (20, 7)
    assert told.usage is not None
    assert told.usage["prompt_tokens_details"]["cached_tokens"] == 8
    assert site.event().cached_tokens == 8


@BOTH
def test_no_more_is_cached_than_was_read(site: Site, stream: bool) -> None:
    site.says(answer(WIRES["text"], {**openai(20, 7, 27), "cached_tokens": 99}, stream))
    assert site.ask("text/m", stream=stream).counts == (20, 7)
    assert site.event().cached_tokens <= 20
