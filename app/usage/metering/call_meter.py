"""CallMeter: what one vendor call used, prompt and completion apart, and who counted each side.

A vendor's count takes precedence over an estimate, for as much as it covers. If a stream ends after
the vendor has counted the prompt, the prompt's count is the vendor's, and the completion is
estimated from its text.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from app.usage.cost import Served
from app.usage.messages.event import SideSource
from app.usage.metering.estimate import (
    at_most_asked,
    count_completions,
    count_prompts,
)
from app.usage.metering.pieces import LOOK_CHARS, LOOK_PIECES, Pieces
from app.vocabulary.completion import Completion, Usage
from app.vocabulary.errors import GatewayError
from app.vocabulary.request import GenerationRequest

#: A completion count up to this may only mean that the completion has started.
PLACEHOLDER = 1

#: Sources from the least reliable one on. Nothing used is no doubt about the rest.
_BY_DOUBT: tuple[SideSource, ...] = ("estimated", "vendor", "none")


def least_certain(sources: Iterable[SideSource]) -> SideSource:
    """Return the least reliable of several sources; "none" if there are none."""
    return min(sources, key=_BY_DOUBT.index, default="none")


class Counted(NamedTuple):
    """What a call has used, and the source of each side."""

    usage: Usage
    prompt_source: SideSource
    completion_source: SideSource

    @property
    def source(self) -> SideSource:
        """The source of the whole: an estimate if one side is estimated."""
        prompt, completion = self.prompt_source, self.completion_source
        return prompt if prompt == completion else least_certain((prompt, completion))


NOTHING = Counted(Usage(), "none", "none")


def sum_of(calls: Sequence[Counted]) -> Counted:
    """Return what several calls have used together."""
    if len(calls) == 1:
        return calls[0]
    return Counted(
        sum((call.usage for call in calls), Usage()),
        least_certain(call.prompt_source for call in calls),
        least_certain(call.completion_source for call in calls),
    )


class CallMeter:
    """Counts one vendor call.

    `on_count` is called when the vendor first reports a count while the response continues: a crash
    from then on must not lose that count. `model_asked` is the model's name in the ledger.
    """

    _final: Counted | None = None

    def __init__(
        self,
        vendor: str,
        request: GenerationRequest,
        on_count: Callable[[], None] | None = None,
        model: str | None = None,
    ) -> None:
        self.vendor = vendor
        self.model_asked = request.model_name if model is None else model
        self.vendor_request_id: str | None = None
        self.http_status: int | None = None
        #: The vendor's word for how it served the call, if it named one.
        self.service_tier: str | None = None
        #: Whether the call was given up before anything was sent.
        self.was_skipped = False
        #: Whether the vendor may have done billable work.
        self.billable = False
        #: Whether the response came to its end, so that the vendor's last count covers all of it.
        self.is_whole = False
        self.model_served: str | None = None
        self.first_token_at_s: float | None = None
        #: When the call began and ended, on the monotonic clock.
        self.started_s = self.ended_s = time.monotonic()
        #: How the call failed, if it did.
        self.error: GatewayError | None = None
        self._request, self._name, self._on_count = request, request.model_name, on_count
        self._texts: defaultdict[int, Pieces] = defaultdict(Pieces)
        self._since_report = Pieces()  # empty before the first report
        self._reported: Usage | None = None

    def observe(self, chunk: Completion) -> None:
        """Count a chunk, or a whole response. A chunk's usage is a running total."""
        if self.model_served is None or chunk.model != self._name:
            # A chunk that names no model has the requested name.
            self.model_served = chunk.model
        if chunk.service_tier is not None:
            self.service_tier = chunk.service_tier
        for choice in chunk.choices:
            text = choice.text if choice.reply is None else choice.generated
            if text:
                if self.first_token_at_s is None:
                    self.first_token_at_s = time.monotonic()
                pieces = self._texts[choice.index]
                pieces.append(text)
                if self._reported is not None:
                    self._since_report.append(text)
                if not len(pieces) % LOOK_PIECES or len(text) > LOOK_CHARS:
                    self._shorten(pieces, chunk)
        if chunk.usage:
            if self._reported is None and self._on_count is not None:
                self._on_count()
            self._reported = chunk.usage
            self._since_report.forget()

    def _shorten(self, pieces: Pieces, chunk: Completion) -> None:
        """Count long texts, and let them go, unless they may begin with the prompt's echo."""
        if chunk.usage:  # the vendor has counted them
            return
        if not self._request.echo:
            pieces.shorten()
        self._since_report.shorten()

    def failed(self, error: GatewayError) -> None:
        """Store how the call failed."""
        if error.vendor_status is not None:  # otherwise it failed before or after its status
            self.http_status = error.vendor_status
        self.billable = error.billable
        self.error = error

    def ended(self) -> None:
        """Store when the call ended."""
        self.ended_s = time.monotonic()

    def so_far(self) -> Counted:
        """Return the usage by now; only text that came since the last call is tokenized."""
        if self._is_counted:
            return self._counted(None)
        return self._counted(self._running() if self._runs else self._tokens_so_far())

    def _tokens_so_far(self) -> int:
        tokens = sum(pieces.tokens_so_far() for pieces in tuple(self._texts.values()))
        return at_most_asked(self._request, tokens, self._request.choice_count)

    @property
    def final(self) -> Counted:
        """The usage of the call; to be read when it is over, and counted only once."""
        if self._final is None:
            if self._reported is None and not self.billable and not self._texts:
                self._final = NOTHING
            else:
                self._final = self._counted(None if self._is_counted else self._estimated())
        return self._final

    @property
    def served(self) -> Served | None:
        """What the call's cost depends on; None if it used nothing. To be read when it is over."""
        if not (used := self.final.usage):
            return None
        return Served(self.vendor, self.model_asked, self.model_served, self.service_tier, used)

    @property
    def _is_counted(self) -> bool:
        """Whether the vendor's count of the completion covers all its text.

        A count of 0 covers a text only if that is the prompt's echo.
        """
        if self._reported is None or self._reported.lacks in ("completion", "both"):
            return False
        if not self._reported.completion_tokens and self._texts and not self._request.echo:
            return False
        return not self._since_report or (self._runs and self.is_whole)

    @property
    def _runs(self) -> bool:
        """Whether the vendor has counted some of the completion, and not only that it started."""
        return self._reported is not None and self._reported.completion_tokens > PLACEHOLDER

    def _running(self) -> int:
        """Return the vendor's running count plus the tokens of the text after it."""
        known = self._reported.completion_tokens if self._reported is not None else 0
        running = known + self._since_report.tokens()
        return max(known, at_most_asked(self._request, running, self._request.choice_count))

    def _estimated(self) -> int:
        if self._runs:
            return self._running()
        if self._request.echo:
            texts = {index: "".join(pieces) for index, pieces in self._texts.items()}
            return count_completions(self._request, texts)
        counts = (pieces.tokens() for pieces in self._texts.values())
        return sum(at_most_asked(self._request, tokens) for tokens in counts)

    def _counted(self, completion: int | None) -> Counted:
        """Return the usage with this estimate of the completion; None for the vendor's count."""
        reported = Usage() if self._reported is None else self._reported
        known = reported.prompt_tokens + reported.completion_tokens
        if completion is None and not reported.lacks and reported.total_tokens == known:
            return Counted(reported, "vendor", "vendor")  # the usual case
        prompt_source: SideSource = "vendor"
        prompt = reported.prompt_tokens
        if self._reported is None or reported.lacks in ("prompt", "both"):
            prompt, prompt_source = self._prompt_tokens, "estimated"
        completion_source: SideSource = "vendor" if completion is None else "estimated"
        if reported.lacks == "both":  # only a total, which stands
            prompt = min(prompt, reported.total_tokens)
            completion = reported.total_tokens - prompt
        generated = reported.completion_tokens if completion is None else completion
        usage = Usage(**_with_sides(reported.counts(), prompt, generated))
        return Counted(usage, prompt_source, completion_source)

    @cached_property
    def _prompt_tokens(self) -> int:
        return count_prompts(self._request)


def _with_sides(counts: Mapping[str, int], prompt: int, completion: int) -> dict[str, int]:
    return {
        **counts,
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
