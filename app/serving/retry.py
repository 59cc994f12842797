"""How one part of a request is asked for, until its choices have come: again, and for the rest.

Owns retries at one deployment. Failover to another one is the calls' affair.
"""

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

from app.gateways.decoding.parsing import failed
from app.serving.attempt import Attempt
from app.serving.backoff import is_retryable, pause_s
from app.serving.fan_out import SubRequest
from app.serving.routing import Plan
from app.serving.siblings import UnderWay
from app.transport.call import Transport
from app.usage.meter import Meter
from app.vocabulary.completion import Completion
from app.vocabulary.errors import GatewayError, ShuttingDown

#: How often choices that a vendor left out are asked for again.
ASKED_AGAIN = 2


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks one deployment for parts of one request. `client_disconnected` ends what nobody waits
    for.
    """

    plan: Plan
    transport: Transport
    meter: Meter
    under_way: UnderWay
    client_disconnected: Callable[[], bool] | None

    def answered(self, part: SubRequest) -> Iterator[Completion]:
        """Yield a part's chunks, with those of the choices that had to be asked for again.

        Raises: GatewayError, also when some are missing in the end; Cancelled.
        """
        missing = yield from self._asked(part, ASKED_AGAIN)
        if missing:
            count = part.request.choice_count
            raise failed(self.plan.vendor, f"sent {count - missing} of {count} choices")

    def _asked(self, part: SubRequest, rounds: int) -> Generator[Completion, None, int]:
        """Yield a part's chunks; return how many of its choices are missing after `rounds` more."""
        missing = yield from self._tried(part)
        if not missing or not rounds or time.monotonic() >= self.under_way.until_s:
            return len(missing)
        left = 0
        for again in part.again(missing):
            left += yield from self._asked_again(again, rounds - 1)
        return left

    def _asked_again(self, part: SubRequest, rounds: int) -> Generator[Completion, None, int]:
        """Do the same for choices that are missing, which a failure leaves as they were."""
        seen = _Seen()
        try:
            return (yield from seen.through(self._asked(part, rounds)))
        except ShuttingDown:
            raise
        except GatewayError:
            if seen.any_choice:
                raise
            return part.request.choice_count

    def _tried(self, part: SubRequest) -> Generator[Completion, None, list[int]]:
        """Yield a part's chunks; calls again after a passing failure that came before any.

        Returns the choices that did not come.
        """
        times, encoded = 0, self.plan.encoded(part)
        while True:
            attempt = Attempt(self.plan, part, self.meter, self.under_way)
            try:
                return (
                    yield from attempt.chunks(self.transport, encoded, self.client_disconnected)
                )
            except GatewayError as error:
                pause = None if attempt.has_begun else self._pause_s(error, times)
                if pause is None or self.under_way.wait(pause):
                    raise
                times += 1

    def _pause_s(self, error: GatewayError, times: int) -> float | None:
        """Return how long to wait before the next call; None where there is to be none."""
        if times >= self.plan.vendor.retries or not is_retryable(error):
            return None
        pause = pause_s(error, times)
        if pause is None or time.monotonic() + pause >= self.under_way.until_s:
            return None
        return pause


class _Seen:
    """Whether chunks that pass through hold a choice."""

    any_choice = False

    def through(self, chunks: Generator[Completion, None, int]) -> Generator[Completion, None, int]:
        try:
            while True:
                chunk = next(chunks)
                self.any_choice = self.any_choice or bool(chunk.choices)
                yield chunk
        except StopIteration as stop:
            missing: int = stop.value
            return missing
        finally:
            chunks.close()
