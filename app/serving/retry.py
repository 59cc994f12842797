"""The vendor calls to one candidate: retries, and further calls for choices that are missing.

Failover to the next candidate is in `failover`.
"""

import time
from dataclasses import dataclass

from app.gateways.decoding.parsing import failed
from app.serving.attempt import Attempt, CallContext, Put
from app.serving.backoff import is_retryable, pause_s
from app.serving.fan_out import SubRequest
from app.serving.routing import Plan
from app.vocabulary.completion import Completion
from app.vocabulary.errors import Cancelled, GatewayError, ShuttingDown

#: How often choices that a vendor left out are requested again.
EXTRA_ROUNDS = 2

#: How often a pause looks whether the client is still there, in seconds.
LOOK_S = 0.2


@dataclass(frozen=True, slots=True)
class CandidateCalls:
    """Gets the choices of sub-requests from one candidate."""

    context: CallContext
    plan: Plan

    def answer(self, sub_request: SubRequest, put: Put) -> None:
        """Make a sub-request's calls and `put` their chunks, until all its choices have come.

        Raises: GatewayError, also if choices are still missing in the end; Cancelled.
        """
        missing = self._answered(sub_request, put, EXTRA_ROUNDS)
        if missing:
            count = sub_request.request.choice_count
            raise failed(self.plan.vendor, f"sent {count - missing} of {count} choices")

    def _answered(self, sub_request: SubRequest, put: Put, rounds: int) -> int:
        """Return how many choices are still missing after `rounds` further rounds of calls.

        An answer to the first call without any choice has failed: another one would be paid twice.
        Of several prompts, choices may have come that cannot be placed.
        """
        missing, asked = self._tried(sub_request, put), sub_request.request
        is_first = rounds == EXTRA_ROUNDS and asked.prompt_count == 1
        is_empty = is_first and len(missing) == asked.choice_count
        if (
            not missing
            or is_empty
            or not rounds
            or time.monotonic() >= self.context.in_flight.until_s
        ):
            return len(missing)
        again = sub_request.again(missing)
        return sum([self._asked_again(further, put, rounds - 1) for further in again])

    def _asked_again(self, sub_request: SubRequest, put: Put, rounds: int) -> int:
        """Call again for missing choices; a failure before any choice leaves them missing."""
        any_choice = False

        def noted(chunk: Completion) -> None:
            nonlocal any_choice
            any_choice = any_choice or bool(chunk.choices)
            put(chunk)

        try:
            return self._answered(sub_request, noted, rounds)
        except ShuttingDown:
            raise
        except GatewayError:
            if any_choice:
                raise
            return sub_request.request.choice_count

    def _tried(self, sub_request: SubRequest, put: Put) -> list[int]:
        """Call, and retry after a retryable failure that came before any chunk.

        Returns the indices of the choices that the vendor did not send.
        """
        retries, encoded = 0, self.plan.encoded(sub_request)
        while True:
            attempt = Attempt(self.context, self.plan, sub_request)
            try:
                return attempt.run(encoded, put)
            except GatewayError as error:
                pause = None if attempt.has_begun else self._pause_s(error, retries)
                if pause is None or not self._has_waited(pause):
                    raise
                retries += 1

    def _has_waited(self, pause_s: float) -> bool:
        """Wait before the next call; return False, early, if the calls are cancelled.

        No call is in flight meanwhile, for which the watchdog would look after the client.
        Raises: Cancelled if the client has disconnected: the next call would be for nobody.
        """
        context, until_s = self.context, time.monotonic() + pause_s
        while (left_s := until_s - time.monotonic()) > 0:
            if context.in_flight.wait(min(left_s, LOOK_S)):
                return False
            if context.client_disconnected is not None and context.client_disconnected():
                raise Cancelled
        return True

    def _pause_s(self, error: GatewayError, retries: int) -> float | None:
        """Return the seconds to wait before the next call; None: do not retry."""
        if retries >= self.plan.vendor.retries or not is_retryable(error):
            return None
        pause = pause_s(error, retries)
        if pause is None or time.monotonic() + pause >= self.context.in_flight.until_s:
            return None
        return pause
