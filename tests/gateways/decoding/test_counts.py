"""Token counts: what follows from a vendor's counts, and what stays unknown."""

import logging
from typing import Any

import pytest

from app.gateways.decoding.counts import RunningUsage, first_count, later, put_together
from app.vocabulary.completion import HalfUsage, Lack, Usage


def usage(prompt: int, completion: int, **parts: int) -> Usage:
    """Return a usage whose total is the sum."""
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=prompt + completion,
        **parts,
    )


@pytest.mark.parametrize(
    ("prompt", "completion", "total", "found"),
    [
        (3, 5, 8, usage(3, 5)),
        (3, 5, None, usage(3, 5)),
        (3, 5, 10, usage(3, 7)),  # reasoning that only the total counts
        (3, 5, 7, usage(3, 5)),  # a total that is wrong
        (3, None, 8, usage(3, 5)),
        (3, 0, None, usage(3, 0)),
        (None, 5, 8, usage(3, 5)),
        (3, None, 3, usage(3, 0)),
        (0, 5, 8, usage(3, 5)),  # a prompt of 0 contradicts the total
        (0, 5, 5, usage(0, 5)),
        (8, None, 3, HalfUsage(prompt_tokens=8, total_tokens=8, lacks="completion")),
        (3, None, None, HalfUsage(prompt_tokens=3, total_tokens=3, lacks="completion")),
        (None, 5, None, HalfUsage(completion_tokens=5, total_tokens=5, lacks="prompt")),
        (None, None, 8, HalfUsage(total_tokens=8, lacks="both")),
        (None, None, None, None),
        (0, 0, 0, None),
        (0, None, 0, None),
    ],
)
def test_counts_are_combined(
    prompt: int | None, completion: int | None, total: int | None, found: Usage | None
) -> None:
    assert put_together("sim", prompt, completion, total) == found


def test_a_part_is_at_most_the_count_that_includes_it() -> None:
    parts = {"cached_tokens": 9, "reasoning_tokens": 9, "audio_prompt_tokens": 1}
    found = put_together("sim", 3, 5, 8, parts)
    assert found == usage(3, 5, cached_tokens=3, reasoning_tokens=5, audio_prompt_tokens=1)


@pytest.mark.parametrize(
    ("parts", "prompt", "completion"),
    [
        ({"audio_prompt_tokens": 375}, 384, 248),  # as Mistral counts sounds
        ({"image_prompt_tokens": 300, "audio_prompt_tokens": 75}, 384, 248),
        ({"cache_write_tokens": 175, "cached_tokens": 200}, 384, 248),
        ({"audio_prompt_tokens": 375, "reasoning_tokens": 375}, 9, 623),
        ({"audio_prompt_tokens": 8, "reasoning_tokens": 30}, 9, 623),
        ({"audio_prompt_tokens": 8}, 9, 623),
    ],
)
def test_what_a_total_exceeds_the_sum_by_is_the_parts_of_the_prompt_or_the_completions(
    parts: dict[str, int], prompt: int, completion: int
) -> None:
    found = put_together("sim", 9, 248, 632, parts)
    assert found is not None
    assert (found.prompt_tokens, found.completion_tokens) == (prompt, completion)


def test_images_caches_and_searches_are_parts_of_what_includes_them() -> None:
    parts = {
        "cache_write_tokens": 4,
        "cache_write_1h_tokens": 9,  # a part of those written
        "image_prompt_tokens": 20,
        "image_completion_tokens": 20,
        "web_search_calls": 40,  # no tokens, and part of no count
    }
    assert put_together("sim", 10, 5, 15, parts) == usage(
        10,
        5,
        cache_write_tokens=4,
        cache_write_1h_tokens=4,
        image_prompt_tokens=10,
        image_completion_tokens=5,
        web_search_calls=40,
    )
    alone = put_together("sim", 10, 5, 15, {"cache_write_1h_tokens": 9})
    assert alone == usage(10, 5)


def test_a_later_report_does_not_erase_what_only_an_earlier_one_had() -> None:
    first = usage(10, 1, image_prompt_tokens=4, web_search_calls=1)
    found = later(first, usage(10, 7, web_search_calls=2))
    assert found == usage(10, 7, image_prompt_tokens=4, web_search_calls=2)


def test_the_images_of_a_prompt_with_two_choices_count_once() -> None:
    running = RunningUsage(2, 2)
    one = usage(10, 5, image_prompt_tokens=4, image_completion_tokens=3, cache_write_1h_tokens=2)
    running.put(one, [0], at_end=True)
    found = running.put(one, [1], at_end=True)
    assert (found.prompt_tokens, found.completion_tokens) == (10, 10)
    assert (found.image_prompt_tokens, found.image_completion_tokens) == (4, 6)
    assert found.cache_write_1h_tokens == 2


def test_a_total_below_the_sum_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        put_together("sim", 3, 5, 7)
    assert "sim reports a total of 7 tokens, but 8 in prompt and completion" in caplog.messages


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ({"a": 1, "b": {"c": 2}}, 1),
        ({"a": None, "b": {"c": 2}}, 2),
        ({"a": "1", "b": {"c": 0}}, 0),
        ({"b": [1]}, None),
        ({"a": {"c": 1}, "b": 2}, None),
        ([], None),
        (None, None),
    ],
)
def test_the_first_valid_count_is_used(body: Any, count: int | None) -> None:
    assert first_count(body, (("a",), ("b", "c"))) == count


def half(lacks: Lack, prompt: int = 0, completion: int = 0) -> HalfUsage:
    return HalfUsage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=prompt + completion,
        lacks=lacks,
    )


@pytest.mark.parametrize(
    ("before", "now", "found"),
    [
        (None, usage(3, 5), usage(3, 5)),
        (usage(3, 5), usage(3, 9), usage(3, 9)),
        (half("completion", prompt=3), half("prompt", completion=5), usage(3, 5)),
        (half("completion", prompt=3), half("completion", prompt=4), half("completion", prompt=4)),
        (usage(3, 5), half("prompt", completion=9), usage(3, 9)),
        (usage(3, 5), usage(3, 0), usage(3, 5)),  # 0 is no update
        (usage(3, 5, cached_tokens=2), usage(3, 9), usage(3, 9, cached_tokens=2)),
    ],
)
def test_a_later_report_replaces_what_it_counts(
    before: Usage | None, now: Usage, found: Usage
) -> None:
    assert later(before, now) == found


def test_a_usage_beside_no_choice_covers_the_response() -> None:
    running = RunningUsage(2, 2)
    running.put(usage(3, 5), (0,), at_end=True)
    assert running.put(usage(3, 11), ()) == usage(3, 11)
    assert running.put(usage(3, 6), (1,), at_end=True) == usage(3, 11)


def test_a_usage_beside_each_end_is_summed_and_a_prompt_counts_once() -> None:
    running = RunningUsage(3, 2)  # two samples of the first prompt, one of the second
    assert running.put(usage(3, 5), (0,), at_end=True) == usage(3, 5)
    assert running.put(usage(3, 6), (1,), at_end=True) == usage(3, 11)
    assert running.put(usage(7, 1), (2,), at_end=True) == usage(10, 12)
    four = RunningUsage(4, 2)
    for at in range(4):
        found = four.put(usage(10, at + 1), (at,), at_end=True)
    assert found == usage(20, 1 + 2 + 3 + 4)


def test_a_count_that_grows_from_choice_to_choice_is_a_running_total() -> None:
    running = RunningUsage(2, 2)
    running.put(usage(3, 1), (0,), has_text=True)
    running.put(usage(3, 2), (1,), has_text=True)
    running.put(usage(3, 3), (0,), has_text=True)
    assert running.put(usage(3, 4), (1,), has_text=True) == usage(3, 4)


def test_counts_that_grow_by_choice_are_summed() -> None:
    running = RunningUsage(2, 2)
    for count in (1, 2):
        running.put(usage(3, count), (0,), has_text=True)
        total = running.put(usage(3, count), (1,), has_text=True)
    assert total == usage(3, 4)


def test_a_sum_lacks_what_one_choice_lacks() -> None:
    running = RunningUsage(2, 1)
    running.put(half("prompt", completion=5), (0,), at_end=True)
    found = running.put(usage(3, 6), (1,), at_end=True)
    assert (found.completion_tokens, found.lacks) == (11, "prompt")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_sum_lacks_a_completion_whichever_choice_lacks_it(order: tuple[int, ...]) -> None:
    reports = [usage(10, 2), half("completion", prompt=10)]
    running = RunningUsage(2, 1)
    for at in order:
        found = running.put(reports[at], (at,), at_end=True)
    assert found.lacks == "completion"
    assert (found.prompt_tokens, found.completion_tokens) == (20, 2)


def test_reports_of_many_choices_are_summed_as_they_come() -> None:
    prompts, samples = 1_024, 2
    running = RunningUsage(prompts * samples, samples)
    for count in (1, 2, 3):
        for slot in range(prompts * samples):
            total = running.put(usage(5, count), (slot,), at_end=True)
    assert total == Usage(
        prompt_tokens=5 * prompts,
        completion_tokens=3 * prompts * samples,
        total_tokens=5 * prompts + 3 * prompts * samples,
    )
