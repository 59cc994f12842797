"""The meter of one vendor call: what it used, side by side, and whose count that is.

A vendor's word wins over any count of ours, for as much as it says: of a stream that was cut after
the prompt was counted, the prompt is the vendor's, and the completion is counted from its text.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from app.usage.estimate import count_completions, count_prompts, count_tokens
from app.usage.event import SideSource
from app.vocabulary.completion import USAGE_COUNTS, Completion, CompletionRequest, Usage
from app.vocabulary.errors import GatewayError

#: A count of the completion that may only say that it has begun.
PLACEHOLDER = 1


#: What is counted in several ways is told by the least certain one.
_BY_DOUBT: tuple[SideSource, ...] = ("estimated", "vendor", "none")


def least_certain(sources: Iterable[SideSource]) -> SideSource:
    """Return the source of what has several: an estimate as soon as one is."""
    return min(sources, key=_BY_DOUBT.index, default="none")


class Counted(NamedTuple):
    """What a call has used, and whose count each side of it is."""

    usage: Usage
    prompt_source: SideSource
    completion_source: SideSource

    @property
    def source(self) -> SideSource:
        """Whose count it is: an estimate as soon as one side is."""
        prompt, completion = self.prompt_source, self.completion_source
        return prompt if prompt == completion else least_certain((prompt, completion))


NOTHING = Counted(Usage(), "none", "none")


class CallMeter:
    """Counts one vendor call.

    `news` is called when the vendor has counted the prompt while the answer goes on: a crash from
    then on is not to cost that count.
    """

    def __init__(
        self, vendor: str, request: CompletionRequest, news: Callable[[], None] | None = None
    ) -> None:
        self.vendor = vendor
        self.vendor_request_id: str | None = None
        self.http_status: int | None = None
        #: The vendor's word for how it served the call, where it said one.
        self.service_tier: str | None = None
        #: Whether the call was given up before anything was sent.
        self.was_skipped = False
        #: Whether the vendor may have done paid work.
        self.billable = False
        #: Whether the answer came to its end, so that the vendor's last count is of all of it.
        self.is_whole = False
        self.model_served: str | None = None
        self.first_token_at_s: float | None = None
        self._request = request
        self._news = news
        self._texts: defaultdict[int, list[str]] = defaultdict(list)
        self._since_report: list[str] = []
        self._reported: Usage | None = None
        self._counted_pieces: dict[int, int] = {}
        self._counted_tokens = 0

    @property
    def model_asked(self) -> str:
        """What the vendor was asked for, by its own name."""
        return self._request.model_name

    def observe(self, chunk: Completion) -> None:
        """Take note of a chunk, or of a whole answer; of its usage, which is a running total."""
        if self.model_served is None or chunk.model != self._request.model_name:
            # Where a chunk names no model, it bears the name that was asked for.
            self.model_served = chunk.model
        if chunk.service_tier is not None:
            self.service_tier = chunk.service_tier
        for choice in chunk.choices:
            if choice.text:
                if self.first_token_at_s is None:
                    self.first_token_at_s = time.monotonic()
                self._texts[choice.index].append(choice.text)
                self._since_report.append(choice.text)
        if chunk.usage:
            if self._reported is None and self._news is not None:
                self._news()
            self._reported = chunk.usage
            self._since_report.clear()

    def failed(self, error: GatewayError) -> None:
        """Take note of how the call failed."""
        if error.vendor_status is not None:  # else it failed after its status, or before
            self.http_status = error.vendor_status
        self.billable = error.billable

    def so_far(self) -> Counted:
        """Return what is known by now; of the text, what is new since the last time is counted."""
        if self._is_counted:
            return self._counted(None)
        return self._counted(self._running() if self._runs else self._new_tokens())

    def _new_tokens(self) -> int:
        for index, pieces in tuple(self._texts.items()):
            known = self._counted_pieces.get(index, 0)
            new = pieces[known:]
            self._counted_pieces[index] = known + len(new)
            self._counted_tokens += count_tokens("".join(new))
        return self._counted_tokens

    @cached_property
    def settled(self) -> Counted:
        """What the call has used; to be asked when it is over."""
        if self._reported is None and not self.billable and not self._texts:
            return NOTHING
        return self._counted(None if self._is_counted else self._estimated())

    @property
    def _is_counted(self) -> bool:
        """Whether the vendor's count of the completion is of all its text.

        Nothing is no count of a text, unless that is the prompt's echo.
        """
        if self._reported is None or self._reported.lacks in ("completion", "both"):
            return False
        if not self._reported.completion_tokens and self._texts and not self._request.echo:
            return False
        return not self._since_report or (self._runs and self.is_whole)

    @property
    def _runs(self) -> bool:
        """Whether the vendor has counted some of the completion, and not only that it began."""
        return self._reported is not None and self._reported.completion_tokens > PLACEHOLDER

    def _running(self) -> int:
        """Return the vendor's running count and the tokens of the text after it."""
        known = self._reported.completion_tokens if self._reported is not None else 0
        return known + count_tokens("".join(self._since_report))

    def _estimated(self) -> int:
        if self._runs:
            return self._running()
        texts = {index: "".join(pieces) for index, pieces in self._texts.items()}
        return count_completions(self._request, texts)

    def _counted(self, completion: int | None) -> Counted:
        """Return all counts; `completion` None is the vendor's own."""
        told = self._reported or Usage()
        known = told.prompt_tokens + told.completion_tokens
        if completion is None and not told.lacks and told.total_tokens == known:
            return Counted(told, "vendor", "vendor")  # as it mostly is
        prompt_source: SideSource = "vendor"
        prompt = told.prompt_tokens
        if self._reported is None or told.lacks in ("prompt", "both"):
            prompt, prompt_source = self._prompt_tokens, "estimated"
        completion_source: SideSource = "vendor" if completion is None else "estimated"
        if told.lacks == "both":  # a total alone, which stands
            prompt = min(prompt, told.total_tokens)
            completion = told.total_tokens - prompt
        generated = told.completion_tokens if completion is None else completion
        counts = {name: getattr(told, name) for name in USAGE_COUNTS}
        return Counted(
            Usage(**_fitting(counts, prompt, generated)), prompt_source, completion_source
        )

    @cached_property
    def _prompt_tokens(self) -> int:
        return count_prompts(self._request)


def _fitting(counts: Mapping[str, int], prompt: int, completion: int) -> dict[str, int]:
    return {
        **counts,
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
