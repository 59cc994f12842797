"""One response as far as it has come: its choices, its usage and its failure.

Decides when a response is complete, and whether it failed. Its end mark completes it. Without an
end mark, it is complete once every choice has ended and its usage has come; since more may follow,
reading continues for a moment. The usage is passed on even if the response fails. Each choice gets
one finish reason, after its last text.
"""

from collections.abc import Iterator, Sequence

from app.gateways.decoding.choices.deltas import Choices
from app.gateways.decoding.chunk_template import ChunkTemplate
from app.gateways.decoding.counts import RunningUsage
from app.gateways.decoding.decoder import Decoder
from app.gateways.decoding.parsing import failed
from app.vocabulary.completion import Completion, Usage
from app.vocabulary.errors import GatewayError


class Assembly:
    """Assembles one response from decoded chunks.

    count    the number of choices that were requested
    choices  their deltas and ends
    is_ended whether the end mark has come
    failure  the first failure, or None
    is_whole whether the response was one JSON object, and not a stream
    template the fast path for the next chunk, or None
    """

    def __init__(self, decoder: Decoder) -> None:
        request = decoder.request
        prompts, samples = request.prompt_count, request.n or 1
        self.count = prompts * samples
        self.choices = Choices(prompts, samples)
        self.is_ended = self.is_whole = False
        self.failure: GatewayError | None = None
        self.template: ChunkTemplate | None = decoder.template() if request.stream else None
        self._decoder = decoder
        self._usage = RunningUsage(self.count if decoder.counts_choices else 1, samples)
        self._total: Usage | None = None
        self._has_count = False
        self._last: Completion | None = None

    @property
    def is_over(self) -> bool:
        """Whether the end mark or a failure has come."""
        return self.is_ended or self.failure is not None

    @property
    def has_ended(self) -> bool:
        """Whether every choice has its finish reason."""
        return len(self.choices.ends) >= self.count

    @property
    def is_complete(self) -> bool:
        """Whether every choice has ended and the usage has come."""
        return self._has_count and self.has_ended and not self.choices.is_open_ended

    def place(self, chunk: Completion) -> Completion | None:
        """Return a chunk with its choices in their slots, without finish reasons; None: drop it.

        A chunk without choices is still returned if it shows that the vendor is at work.
        """
        choices, usage = chunk.choices, chunk.usage
        placed, slots = self.choices.take(choices)
        self._last = chunk
        if usage is None and len(placed) == len(choices) == 1 and placed[0] is choices[0]:
            return chunk
        at_end = any(choice.finish_reason is not None for choice in choices)
        if at_end and self.template is not None and self.count > 1:
            self.template.forget()  # the same bytes may now belong to another choice
        if usage is not None:
            has_text = any(choice.text or choice.reply for choice in choices)
            usage = self.put_usage(usage, slots, has_text=has_text, at_end=at_end)
        elif not placed and (at_end or not self._decoder.is_alive):
            return None
        return chunk._replace(choices=tuple(placed), usage=usage)

    def place_whole(self, completion: Completion) -> Completion:
        """Return a whole completion with its choices in their slots."""
        usage = None if completion.usage is None else self.put_usage(completion.usage)
        self._note_limit()
        choices = self.choices.take_whole(completion.choices)
        if choices == completion.choices and usage is completion.usage:
            return completion
        return completion._replace(choices=choices, usage=usage)

    def put_usage(
        self,
        usage: Usage,
        slots: Sequence[int] = (),
        *,
        has_text: bool = False,
        at_end: bool = False,
    ) -> Usage:
        """Add a usage that came beside the choices in `slots`; return the response's usage."""
        # A usage beside a text is a running count, and another one follows. A usage beside or
        # after the last end is final.
        is_last = self.has_ended or not (slots or usage.lacks)
        # 0 is no count if there is text.
        is_count = bool(usage.completion_tokens) or not self.choices.sent
        self._has_count = self._has_count or (is_last and is_count)
        self._total = self._usage.put(usage, slots, has_text=has_text, at_end=at_end)
        if self.failure is not None:
            self.failure.billable = True
        return self._total

    def end(self) -> None:
        """Note the end mark: from now on, frames are only searched for usage."""
        self.is_ended, self.template = True, None

    def fail(self, error: GatewayError) -> None:
        """Note the first failure, which is billable if text or a usage came before it."""
        if self.failure is None:
            self.failure, self.template = error, None
            if self.choices.has_text or self._total is not None:
                error.billable = True

    def finish(self, broken: GatewayError | None) -> Iterator[Completion]:
        """Yield the texts that were held back, and the ends of the choices.

        `broken` is the error with which the connection ended, if any.
        Raises: GatewayError if the response failed or is incomplete.
        """
        if self._last is not None and (released := self.choices.release()):
            yield self._last._replace(choices=tuple(released), usage=None)
        self._judge(broken)
        if self._last is not None and (pieces := self.choices.close_calls()):
            yield self._last._replace(choices=tuple(pieces), usage=None)
        if not self.is_whole and (tail := self._tail()) is not None:
            yield tail
        if self.failure is not None:
            raise self.failure

    def _judge(self, broken: GatewayError | None) -> None:
        """Decide whether the response is complete.

        Without an end mark, every choice that began must have ended. If the connection broke, no
        choice may be missing either.
        """
        choices, vendor = self.choices, self._decoder.vendor
        if not self.is_over:
            unfinished = choices.open - choices.ends.keys()
            has_any = choices.open or self._total is not None
            if not unfinished and has_any and (broken is None or self.has_ended):
                self.end()
            else:
                self.fail(broken or failed(vendor, "ended its response before it was complete"))
        if self.failure is None:
            self._note_limit()
            choices.finish()
        if (lost := choices.drop_failed()) is not None:
            self.fail(failed(vendor, _why(lost.native_finish_reason)))

    def _note_limit(self) -> None:
        """Note whether all choices have used up the limit, which some vendors give no reason for.

        OpenRouter has null then for xAI's models.
        """
        limit, total = self._decoder.request.max_tokens, self._total
        if limit and total is not None and total.completion_tokens >= limit * self.count:
            self.choices.unnamed = "length"

    def _tail(self) -> Completion | None:
        """Return the last chunk, with the finish reasons; None if there are none."""
        choices = self.choices.tail()
        if self._last is None or not choices:
            return None
        options = self._decoder.request.stream_options or {}
        usage = self._total if options.get("continuous_usage_stats") else None
        return self._last._replace(choices=choices, usage=usage)


def _why(reason: str | None) -> str:
    return f"ended a choice with the reason {reason!r}" if reason else "sent a choice without text"
