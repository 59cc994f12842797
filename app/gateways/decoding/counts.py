"""Combines a vendor's token counts into a Usage. No I/O.

The vendor's counts win. A count that follows from two others is computed. A side that does not
follow stays unknown (`HalfUsage.lacks`); the meter estimates it, and marks the estimate.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from app.gateways.decoding.parsing import whole
from app.vocabulary.completion import USAGE_COUNTS, HalfUsage, Lack, Usage

#: Counts of a prompt, which is charged once, however many samples it has.
PROMPT_COUNTS = (
    "prompt_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "cache_write_1h_tokens",
    "audio_prompt_tokens",
    "image_prompt_tokens",
)

#: Counts that are included in the completion's tokens.
COMPLETION_PARTS = (
    "reasoning_tokens",
    "audio_completion_tokens",
    "image_completion_tokens",
    "accepted_prediction_tokens",
    "rejected_prediction_tokens",
)

#: All counts but the sides and their total.
_PARTS = tuple(
    name
    for name in USAGE_COUNTS
    if name not in ("prompt_tokens", "completion_tokens", "total_tokens")
)

#: They are read once for each event of a stream: at once, a fifth of the time.
_parts_of = attrgetter(*_PARTS)

log = logging.getLogger(__name__)


def put_together(
    vendor: str,
    prompt: int | None,
    completion: int | None,
    total: int | None,
    parts: Mapping[str, int] | None = None,
) -> Usage | None:
    """Return the usage for a prompt's, a completion's and a total count; None if all are missing.

    What a total exceeds the sum by belongs to the completion: the vendor left out its reasoning;
    or to the prompt, if it is what the parts of the prompt come to. A total below the sum is wrong
    and ignored. All zeros are no count: some vendors send them beforehand.
    `parts` are further counts by their names in `Usage`; each is at most what includes it.
    """
    if not (prompt or completion or total):
        return None
    if prompt and completion and total == prompt + completion and not parts:  # the usual case
        return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=total)
    if not prompt and total and completion is not None and total > completion:
        prompt = None  # a prompt of 0 tokens contradicts the total
    if prompt and completion and total and parts:
        prompt += _left_out(total - prompt - completion, parts)
    prompt, completion, lacks = _sides(vendor, prompt, completion, total or 0)
    counts = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": (total or 0) if lacks == "both" else prompt + completion,
    }
    return _usage(_with_parts(counts, parts or {}), lacks)


#: Counts of a prompt that a vendor may leave out of its tokens, alone or together: Mistral leaves
#: out those of sounds.
LEFT_OUT = (
    ("audio_prompt_tokens", "image_prompt_tokens"),
    ("cached_tokens", "cache_write_tokens"),
)


def _left_out(excess: int, parts: Mapping[str, int]) -> int:
    """Return the tokens of the prompt that only the total includes, if they are all it exceeds."""
    if excess <= 0 or excess == parts.get("reasoning_tokens"):
        return 0
    for names in LEFT_OUT:
        found = [parts.get(name, 0) for name in names]
        if excess in (*found, sum(found)):
            return excess
    return 0


def _sides(
    vendor: str, prompt: int | None, completion: int | None, total: int
) -> tuple[int, int, Lack]:
    """Return both sides, computed from the total if possible, and which is unknown (0)."""
    if prompt is not None and completion is not None:
        return prompt, _widened(vendor, prompt, completion, total), ""
    if total and prompt is not None and total >= prompt:
        return prompt, total - prompt, ""
    if total and completion is not None and total >= completion:
        return total - completion, completion, ""
    if prompt is None and completion is None:
        return 0, 0, "both"
    return prompt or 0, completion or 0, "completion" if completion is None else "prompt"


def _usage(counts: Mapping[str, int], lacks: Lack) -> Usage:
    return HalfUsage(**counts, lacks=lacks) if lacks else Usage(**counts)


def _widened(vendor: str, prompt: int, completion: int, total: int) -> int:
    """Return the completion's tokens, including those that only the total counts."""
    if 0 < total < prompt + completion:
        log.warning(
            "%s reports a total of %s tokens, but %s in prompt and completion",
            vendor,
            total,
            prompt + completion,
        )
    return max(completion, total - prompt)


def _with_parts(counts: Mapping[str, int], parts: Mapping[str, int]) -> Mapping[str, int]:
    """Return the counts with their parts, each at most the count that includes it.

    Web searches are no tokens, and part of no count.
    """
    if not parts:
        return counts
    most = dict.fromkeys(PROMPT_COUNTS, counts["prompt_tokens"])
    most |= dict.fromkeys(COMPLETION_PARTS, counts["completion_tokens"])
    most["cache_write_1h_tokens"] = min(
        most["cache_write_1h_tokens"], parts.get("cache_write_tokens", 0)
    )
    return {**counts, **{name: min(n, most.get(name, n)) for name, n in parts.items()}}


def first_count(body: Any, paths: Iterable[tuple[str, ...]]) -> int | None:
    """Return the first valid count at one of the `paths`; None if there is none."""
    for path in paths:
        value = body
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if (count := whole(value)) is not None:
            return count
    return None


def later(before: Usage | None, now: Usage) -> Usage:
    """Return the usage after another running report; counts that it lacks, or has as 0, stay.

    The total is the sum once both sides are known.
    """
    if before is None or (not now.lacks and now.completion_tokens and not _has_parts(before)):
        return now
    counts = {name: getattr(now, name) or getattr(before, name) for name in USAGE_COUNTS}
    unknown = SIDES[before.lacks] & SIDES[now.lacks]
    if not unknown:
        counts["total_tokens"] = counts["prompt_tokens"] + counts["completion_tokens"]
    return _usage(counts, next(lack for lack, sides in SIDES.items() if sides == unknown))


def _has_parts(usage: Usage) -> bool:
    return any(_parts_of(usage))


#: The unknown sides for each `lacks`.
SIDES: Mapping[Lack, frozenset[str]] = {
    "": frozenset(),
    "prompt": frozenset({"prompt"}),
    "completion": frozenset({"completion"}),
    "both": frozenset({"prompt", "completion"}),
}


class RunningUsage:
    """The usage of one response so far, from reports that cover the response or one choice.

    A report beside no choice, or in a response with one choice, covers the response: the last one
    counts. A report beside one of several choices covers that choice, including its whole prompt.
    Exception: if such reports come in the middle of texts and only grow from one choice to the
    next, they are a running total of the response.
    """

    def __init__(self, choices: int, samples: int) -> None:
        self._choices = choices
        self._samples = samples
        self._whole: Usage | None = None
        self._by_choice: dict[int, Usage] = {}
        self._sum = dict.fromkeys(USAGE_COUNTS, 0)  # over the choices, each prompt once
        self._lacks: Counter[Lack] = Counter()  # how many of them lack a side
        self._prompted: dict[int, int] = {}  # prompt -> the choice that it is counted with
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
        """Add a report beside the choices in `slots`; return the response's usage.

        `has_text`: these choices have text beside it. `at_end`: they end with it.
        """
        if self._choices == 1 or len(slots) != 1:
            self._whole = later(self._whole, usage)
            return self._whole
        (slot,) = slots
        if has_text:  # without text, a report repeats a count
            self._runs = self._runs or not at_end or slot in self._by_choice
            self._growing = self._growing and usage.completion_tokens > self._last
        self._last = max(self._last, usage.completion_tokens)
        self._put_choice(slot, usage)
        if self._whole is not None:
            return self._whole
        return usage if self._growing and self._runs else self._summed()

    def _put_choice(self, slot: int, usage: Usage) -> None:
        """Add a choice's report; the sum is kept, since there may be thousands of choices."""
        before = self._by_choice.get(slot)
        now = self._by_choice[slot] = later(before, usage)
        has_prompt = self._prompted.setdefault(slot // self._samples, slot) == slot
        for sign, report in ((-1, before), (1, now)):
            if report is None:
                continue
            counted = report if has_prompt else _without_prompt(report)
            for name in USAGE_COUNTS:
                self._sum[name] += sign * getattr(counted, name)
            self._lacks[report.lacks] += sign

    def _summed(self) -> Usage:
        lacks = [lack for lack, choices in self._lacks.items() if choices]
        return _usage(self._sum, max(lacks, key=lambda lack: len(SIDES[lack])))


def _without_prompt(usage: Usage) -> Usage:
    counts = {name: getattr(usage, name) for name in USAGE_COUNTS if name not in PROMPT_COUNTS}
    return Usage(**{**counts, "total_tokens": usage.completion_tokens})
