"""Token counts, put together from whatever a vendor gave of them. Pure.

The vendor's exact word wins: a count that follows from two others is theirs as much as these are.
What does not follow is left open (`HalfUsage.lacks`), for the meter to estimate and to mark.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.gateways.decoding.parsing import whole
from app.vocabulary.completion import USAGE_COUNTS, HalfUsage, Lack, Usage

#: Counts of a prompt, which is read once however many samples it has.
PROMPT_COUNTS = ("prompt_tokens", "cached_tokens", "cache_write_tokens", "audio_prompt_tokens")

#: Parts of a completion's tokens.
COMPLETION_PARTS = (
    "reasoning_tokens",
    "audio_completion_tokens",
    "accepted_prediction_tokens",
    "rejected_prediction_tokens",
)

log = logging.getLogger(__name__)


def put_together(
    vendor: str,
    prompt: int | None,
    completion: int | None,
    total: int | None,
    parts: Mapping[str, int] | None = None,
) -> Usage | None:
    """Return the usage that a prompt's, a completion's and a total count give; None says nothing.

    A total above the sum belongs to the completion, whose reasoning was left out. A total below
    it is wrong: the parts stand. All zeros are no count: some vendors send them beforehand.
    """
    if not (prompt or completion or total):
        return None
    if prompt and completion and total == prompt + completion and not parts:  # as it mostly is
        return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=total)
    if not prompt and total and completion is not None and total > completion:
        prompt = None  # a prompt of nothing, that is: the total knows better
    lacks: Lack = ""
    if prompt is not None and completion is not None:
        completion = _widened(vendor, prompt, completion, total or 0)
    elif total and prompt is not None and total >= prompt:
        completion = total - prompt
    elif total and completion is not None and total >= completion:
        prompt = total - completion
    elif prompt is None and completion is None:
        lacks = "both"
    else:
        lacks = "completion" if completion is None else "prompt"
    known, generated = prompt or 0, completion or 0
    counts = {
        "prompt_tokens": known,
        "completion_tokens": generated,
        "total_tokens": (total or 0) if lacks == "both" else known + generated,
    }
    return _usage(_with_parts(counts, parts or {}), lacks)


def _usage(counts: Mapping[str, int], lacks: Lack) -> Usage:
    return HalfUsage(**counts, lacks=lacks) if lacks else Usage(**counts)


def _widened(vendor: str, prompt: int, completion: int, total: int) -> int:
    """Return the completion's tokens, those among them that only the total counts."""
    if 0 < total < prompt + completion:
        log.warning(
            "%s counts %s tokens in all, but %s in parts", vendor, total, prompt + completion
        )
    return max(completion, total - prompt)


def _with_parts(counts: Mapping[str, int], parts: Mapping[str, int]) -> Mapping[str, int]:
    """Return the counts with their parts, none larger than what it is a part of."""
    if not parts:
        return counts
    prompt, completion = counts["prompt_tokens"], counts["completion_tokens"]
    return {
        **counts,
        **{
            n: min(count, prompt if n in PROMPT_COUNTS else completion)
            for n, count in parts.items()
        },
    }


def first_count(body: Any, paths: Iterable[tuple[str, ...]]) -> int | None:
    """Return the first count that is one, of those at `paths`; None where none is."""
    for path in paths:
        value = body
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if (count := whole(value)) is not None:
            return count
    return None


def later(before: Usage | None, now: Usage) -> Usage:
    """Return what is known after a second report: a side that it leaves open, or has 0 of, stays.

    Reports are running totals. The total is the sum, as soon as both sides are known.
    """
    if before is None or (not now.lacks and now.completion_tokens and not _has_parts(before)):
        return now
    counts = {name: getattr(now, name) or getattr(before, name) for name in USAGE_COUNTS}
    open_sides = SIDES[before.lacks] & SIDES[now.lacks]
    if not open_sides:
        counts["total_tokens"] = counts["prompt_tokens"] + counts["completion_tokens"]
    return _usage(counts, next(lack for lack, sides in SIDES.items() if sides == open_sides))


def _has_parts(usage: Usage) -> bool:
    return bool(
        usage.cached_tokens
        or usage.cache_write_tokens
        or usage.audio_prompt_tokens
        or any(getattr(usage, name) for name in COMPLETION_PARTS)
    )


#: What a usage lacks, as the sides that are open.
SIDES: Mapping[Lack, frozenset[str]] = {
    "": frozenset(),
    "prompt": frozenset({"prompt"}),
    "completion": frozenset({"completion"}),
    "both": frozenset({"prompt", "completion"}),
}


class RunningUsage:
    """The usage of one streamed answer so far, of reports that may be of the whole or of a choice.

    A report with no choice beside it, or of an answer with one choice, is of the whole: the last
    one stands. Reports beside single choices of several are those choices', each with its whole
    prompt, unless they come in the middle of texts and only ever grow from one choice to the next,
    as a running total does.
    """

    def __init__(self, choices: int, samples: int) -> None:
        self._choices = choices
        self._samples = samples
        self._whole: Usage | None = None
        self._by_choice: dict[int, Usage] = {}
        self._growing = True
        self._runs = False
        self._last = 0

    def put(
        self,
        usage: Usage,
        slots: Sequence[int],
        *,
        has_text: bool = False,
        at_end: bool = False,
    ) -> Usage:
        """Return the answer's usage, now that `usage` came beside the choices of `slots`.

        `has_text` says that they have text beside it, `at_end` that they end with it.
        """
        if self._choices == 1 or len(slots) != 1:
            self._whole = later(self._whole, usage)
            return self._whole
        (slot,) = slots
        if has_text:  # what comes with no text repeats a count
            self._runs = self._runs or not at_end or slot in self._by_choice
            self._growing = self._growing and usage.completion_tokens > self._last
        self._last = max(self._last, usage.completion_tokens)
        self._by_choice[slot] = later(self._by_choice.get(slot), usage)
        if self._whole is not None:
            return self._whole
        return usage if self._growing and self._runs else self._summed()

    def _summed(self) -> Usage:
        total, prompts, lacks = Usage(), set[int](), set[Lack]()
        for slot, usage in self._by_choice.items():
            prompt = slot // self._samples
            total += usage if prompt not in prompts else _without_prompt(usage)
            prompts.add(prompt)
            lacks.add(usage.lacks)
        counts = {name: getattr(total, name) for name in USAGE_COUNTS}
        return _usage(counts, max(lacks, key=lambda lack: len(SIDES[lack])))


def _without_prompt(usage: Usage) -> Usage:
    counts = {name: getattr(usage, name) for name in USAGE_COUNTS if name not in PROMPT_COUNTS}
    return Usage(**{**counts, "total_tokens": usage.completion_tokens})
