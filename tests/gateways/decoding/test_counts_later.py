"""Token counts put together: of sides, of later reports, of several choices."""

import pytest

from app.gateways.decoding.counts import RunningUsage, first_count, later, put_together
from app.vocabulary.completion import HalfUsage, Lack, Usage


def usage(prompt: int, completion: int, **parts: int) -> Usage:
    total = prompt + completion
    return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=total, **parts)


def half(lacks: Lack, known: int) -> HalfUsage:
    side = {"prompt": "completion_tokens", "completion": "prompt_tokens"}.get(lacks)
    sides = {side: known} if side else {}
    return HalfUsage(lacks=lacks, total_tokens=known, **sides)


@pytest.mark.parametrize(
    ("prompt", "completion", "total", "found"),
    [
        (3, 2, 5, usage(3, 2)),
        (3, 2, None, usage(3, 2)),
        (3, 2, 9, usage(3, 6)),  # what it reasoned is in the total alone
        (3, 2, 4, usage(3, 2)),  # a total that is too small is wrong
        (3, None, 5, usage(3, 2)),
        (3, None, 3, usage(3, 0)),
        (None, 2, 5, usage(3, 2)),
        (0, 2, 5, usage(3, 2)),
        (0, 2, 2, usage(0, 2)),
        (3, None, 2, half("completion", 3)),
        (3, None, None, half("completion", 3)),
        (None, 2, None, half("prompt", 2)),
        (None, None, 5, half("both", 5)),
        (None, None, None, None),
        (0, 0, 0, None),
    ],
)
def test_what_follows_from_the_counts_is_known_and_the_rest_is_open(
    prompt: int | None, completion: int | None, total: int | None, found: Usage | None
) -> None:
    assert put_together("v", prompt, completion, total) == found


def test_a_part_is_no_larger_than_what_it_is_a_part_of() -> None:
    parts = {"cached_tokens": 9, "reasoning_tokens": 9, "audio_prompt_tokens": 2}
    found = put_together("v", 3, 2, None, parts)
    assert found == usage(3, 2, cached_tokens=3, reasoning_tokens=2, audio_prompt_tokens=2)


def test_the_first_count_that_is_one_is_taken() -> None:
    body = {"a": {"b": "7"}, "c": {"d": 5}, "e": 4}
    assert first_count(body, [("a", "b"), ("no", "such"), ("c", "d"), ("e",)]) == 5
    assert first_count(body, [("a",), ("a", "b", "c")]) is None
    assert first_count([], [("a",)]) is None


@pytest.mark.parametrize(
    ("before", "now", "known"),
    [
        (None, usage(3, 2), usage(3, 2)),
        (usage(3, 2), usage(3, 4), usage(3, 4)),
        (usage(3, 2), usage(3, 0), usage(3, 2)),
        (half("completion", 3), half("prompt", 2), usage(3, 2)),
        (half("completion", 3), half("completion", 4), half("completion", 4)),
        (usage(3, 2, cached_tokens=1), usage(3, 4), usage(3, 4, cached_tokens=1)),
    ],
)
def test_a_later_report_goes_before_and_what_it_leaves_open_stays(
    before: Usage | None, now: Usage, known: Usage
) -> None:
    assert later(before, now) == known


def test_reports_beside_single_choices_are_summed_and_a_prompt_counts_once() -> None:
    running = RunningUsage(choices=4, samples=2)
    for slot in range(4):
        found = running.put(usage(10, slot + 1), (slot,), at_end=True)
    assert found == usage(20, 1 + 2 + 3 + 4)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_sum_lacks_what_the_least_told_of_its_choices_lacks(order: tuple[int, ...]) -> None:
    told = [usage(10, 2), half("completion", 10)]
    running = RunningUsage(choices=2, samples=1)
    for slot in order:
        found = running.put(told[slot], (slot,), at_end=True)
    assert found.lacks == "completion"
    assert (found.prompt_tokens, found.completion_tokens) == (20, 2)


def test_a_running_total_is_no_sum() -> None:
    running = RunningUsage(choices=2, samples=2)
    for completion in range(1, 6):
        found = running.put(usage(10, completion), (completion % 2,), has_text=True)
    assert found == usage(10, 5)


def test_a_report_of_the_whole_stands_against_those_of_choices() -> None:
    running = RunningUsage(choices=2, samples=2)
    running.put(usage(10, 2), (0,), at_end=True)
    assert running.put(usage(10, 7), ()) == usage(10, 7)
    assert running.put(usage(10, 3), (1,), at_end=True) == usage(10, 7)
