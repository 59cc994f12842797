"""Why a request failed: its error and its vendor calls, as the ledger keeps them. No I/O.

Neither prompts nor keys get into the ledger. Gateways replace keys in what vendors say; parts of
the prompts that a vendor quotes are replaced here (`quotes`).
"""

from collections.abc import Mapping, Sequence

from app.usage.messages.call_attempt import CallAttempt
from app.usage.metering.call_meter import CallMeter
from app.usage.metering.quotes import without_quotes
from app.vocabulary.errors import VENDOR_REJECTED, GatewayError, TollgateError
from app.vocabulary.request import GenerationRequest
from app.vocabulary.text import SENTENCE_LIMIT

#: The most calls that are kept: the first and the last ones.
ATTEMPTS_LIMIT = 20


def error_code(error: BaseException | None) -> str | None:
    """Return the stable code of what ended a request; None if nothing did."""
    if error is None:
        return None
    if isinstance(error, GatewayError):
        return error.code or VENDOR_REJECTED
    return error.code if isinstance(error, TollgateError) else TollgateError.code


def error_message(error: BaseException | None, request: GenerationRequest) -> str | None:
    """Return what the vendor said, or what Tollgate saw, without parts of the prompts.

    None for an error without words for callers, such as a fault of Tollgate's.
    """
    message = _words(error)
    return message and without_quotes(message, request)


def attempt_log(
    calls: Sequence[CallMeter], request: GenerationRequest, started_s: float
) -> tuple[CallAttempt, ...]:
    """Return how each call went, in the order of their beginnings; () if none failed.

    `started_s` is the request's start on the monotonic clock, as are the calls' times.
    """
    if all(call.error is None for call in calls):
        return ()
    made = [call for call in calls if not call.was_skipped]
    half = ATTEMPTS_LIMIT // 2
    kept = made if len(made) <= ATTEMPTS_LIMIT else [*made[:half], *made[-half:]]
    # Retries often fail with the same words, and a prompt may be long.
    messages = {words: without_quotes(words, request) for words in map(_said, kept) if words}
    return tuple(_attempt(call, messages, started_s) for call in kept)


def _words(error: BaseException | None) -> str | None:
    if not isinstance(error, TollgateError):
        return None
    told = error.vendor_message if isinstance(error, GatewayError) else None
    return (told or error.message)[:SENTENCE_LIMIT]


def _said(call: CallMeter) -> str | None:
    return _words(call.error)


def _attempt(call: CallMeter, messages: Mapping[str, str], started_s: float) -> CallAttempt:
    words = _said(call)
    return CallAttempt(
        call.vendor,
        call.model_asked,
        started_ms=int((call.started_s - started_s) * 1000),
        duration_ms=int((call.ended_s - call.started_s) * 1000),
        http_status=call.http_status,
        vendor_request_id=call.vendor_request_id,
        error_code=error_code(call.error),
        error_message=messages[words] if words else None,
    )
