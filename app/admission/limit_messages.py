"""Messages about limits: OpenAI's headers, and errors that name the next step. No I/O."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from app.admission.reservations import UNITS, Check, LimitState
from app.vocabulary.errors import InsufficientQuota, LimitReached, RateLimited
from app.vocabulary.limits import Limits
from app.vocabulary.money import show_usd

#: When to retry if running requests hold the rest of a limit, in seconds.
RUNNING_S = 2

PERIOD_WORDS = {"day": "daily", "month": "monthly"}


@dataclass(frozen=True, slots=True)
class LimitOutcome:
    """The result of one limit check; `state` includes the request if it was admitted."""

    limits: Limits
    check: Check
    state: LimitState

    @property
    def remaining(self) -> int:
        """Requests or tokens left of a rate."""
        return max(0, self.check.limit - -(-self.state.used // UNITS))

    @property
    def reset_ms(self) -> int:
        """Milliseconds until all of a rate is available again."""
        return -(-self.state.used // self.check.limit)

    @property
    def wait_s(self) -> int:
        """Whole seconds until the request fits in the rate, at least 1."""
        over = self.state.used + (self.check.amount - self.check.limit) * UNITS
        return max(1, -(-over // (self.check.limit * 1000)))


def limit_headers(outcomes: Sequence[LimitOutcome]) -> dict[str, str]:
    """Return OpenAI's headers; for each kind of rate, those of the limit with the least left.

    Source: OpenAI's guide to rate limits, "Rate limits in headers".
    """
    headers: dict[str, str] = {}
    for kind in ("requests", "tokens"):
        rates = [outcome for outcome in outcomes if outcome.check.kind == kind]
        if rates:
            least = min(rates, key=lambda rate: rate.remaining)
            headers[f"x-ratelimit-limit-{kind}"] = str(least.check.limit)
            headers[f"x-ratelimit-remaining-{kind}"] = str(least.remaining)
            headers[f"x-ratelimit-reset-{kind}"] = show_duration(least.reset_ms)
    return headers


def limit_error(outcomes: Sequence[LimitOutcome]) -> LimitReached:
    """Return the error of a request that does not fit: of several limits, the longest wait."""
    errors = [_limit_error(outcome) for outcome in outcomes if not outcome.state.fits]
    return max(errors, key=lambda error: float(error.headers.get("retry-after", "inf")))


def warning(outcome: LimitOutcome) -> str:
    """Return the warning of a budget whose soft bound is passed."""
    limits = outcome.limits
    spent = show_usd(outcome.state.used + outcome.state.reserved)
    text = f"{limits.subject} has spent or reserved {spent} this {limits.period}"
    if limits.budget_nanousd is not None:
        text += f" of {show_usd(limits.budget_nanousd)}"
    return f"{text}; the soft bound is {show_usd(limits.soft_nanousd or 0)} ({limits.zone})"


def show_duration(ms: int) -> str:
    """Return a duration in the format of OpenAI's headers: `17ms`, `1s`, `8.64s`, `6m0s`."""
    if 0 < ms < 1000:
        return f"{ms}ms"
    minutes, rest_ms = divmod(ms, 60_000)
    seconds = f"{rest_ms / 1000:g}s"
    return f"{minutes}m{seconds}" if minutes else seconds


#: Kind of a check -> the limit's name, as in the settings of accounts and keys.
_LIMITS = {
    "requests": "requests_per_minute",
    "tokens": "tokens_per_minute",
    "streams": "streams",
    "budget": "budget",
}


def _limit_error(outcome: LimitOutcome) -> LimitReached:
    error = _error(outcome)
    error.limit = f"{outcome.limits.kind}/{_LIMITS[outcome.check.kind]}"
    return error


def _error(outcome: LimitOutcome) -> LimitReached:
    if outcome.check.kind == "budget":
        return _over_budget(outcome)
    if outcome.check.kind == "streams":
        return _too_many_streams(outcome)
    return _too_fast(outcome)


def _too_fast(outcome: LimitOutcome) -> LimitReached:
    check, subject = outcome.check, outcome.limits.subject
    of_limit = f"the {subject} has a limit of {check.limit} {check.kind} per minute"
    if check.amount > check.limit:
        return RateLimited(
            f"This request may use {check.amount} tokens; {of_limit}."
            " Lower `max_tokens` or shorten the prompt.",
            headers={"x-should-retry": "false"},
        )
    asked = f" This request may use {check.amount}." if check.kind == "tokens" else ""
    return RateLimited(
        f"Rate limit reached: {of_limit}, of which {outcome.remaining} are left.{asked}"
        f" Try again in {outcome.wait_s} s.",
        headers={"retry-after": str(outcome.wait_s)},
    )


def _too_many_streams(outcome: LimitOutcome) -> LimitReached:
    return RateLimited(
        f"The {outcome.limits.subject} may have {outcome.check.limit} streams open at the same"
        f" time, and has {outcome.state.used}. Try again when one has ended,"
        f" or in {RUNNING_S} s.",
        headers={"retry-after": str(RUNNING_S)},
    )


def _over_budget(outcome: LimitOutcome) -> LimitReached:
    limits, check, state = outcome.limits, outcome.check, outcome.state
    resets_at = datetime.fromtimestamp(check.ends_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    whose = f"the {PERIOD_WORDS[limits.period]} budget of the {limits.subject}"
    budget = f"{whose}, {show_usd(check.limit)} ({limits.zone})"
    left = show_usd(max(0, check.limit - state.used))
    if state.used >= check.limit:
        message = f"{budget[0].upper()}{budget[1:]}, is used up. It resets at {resets_at}."
    elif state.used + check.amount > check.limit:
        message = (
            f"This request may cost {show_usd(check.amount)}; {left} is left of {budget}."
            f" Lower `max_tokens`, or wait until it resets at {resets_at}."
        )
    else:
        return RateLimited(
            f"What is left of {budget}, is reserved for running requests."
            f" Try again in {RUNNING_S} s.",
            headers={"retry-after": str(RUNNING_S)},
        )
    return InsufficientQuota(message, headers={"x-should-retry": "false"})
