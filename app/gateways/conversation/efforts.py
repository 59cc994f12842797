"""The caller's `reasoning_effort` in a model's own words or budgets, from the vendor table."""

from collections.abc import Mapping

from app.gateways.conversation.omissions import Omissions
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.errors import InvalidRequest, UnsupportedParameter

#: The least budget that Anthropic's models take, in tokens.
LEAST_BUDGET = 1_024


def effort_of(
    vendor: Vendor,
    request: ChatRequest,
    efforts: Mapping[str, str | int],
    omissions: Omissions,
) -> str | int | None:
    """Return the model's word or budget for the caller's effort.

    None: the caller set none, the model does not reason and the caller wants none, or the vendor
    entry leaves it out.
    Raises: UnsupportedParameter for an effort that the model does not have.
    """
    wanted = request.options.get("reasoning_effort")
    if wanted is None or (wanted == "none" and not efforts):
        return None
    if wanted in efforts:
        return efforts[wanted]
    if vendor.drop_unsupported:
        omissions.leave_out_hint("reasoning_effort")
        return None
    words = f"only {', '.join(efforts)}" if efforts else "none"
    raise UnsupportedParameter(
        f"The model `{request.model_name[:64]}` of the vendor `{vendor.name}` supports {words} "
        f"as `reasoning_effort`, not {str(wanted)[:64]!r}.",
        param="reasoning_effort",
    )


def fitting_budget(budget: int, limit: int, least: int = LEAST_BUDGET) -> int:
    """Return a budget of at most three quarters of the limit, so that the reply has room.

    The limit is never raised.
    Raises: InvalidRequest if that is below the vendor's least budget.
    """
    fitting = min(budget, limit * 3 // 4)
    if fitting < least:
        needed = -(-least * 4 // 3)
        raise InvalidRequest(
            f"With `reasoning_effort`, `max_completion_tokens` must be at least {needed}, not "
            f"{limit}: the model's reasoning counts against it. Raise it, or set "
            "`reasoning_effort` to 'none'.",
            param="reasoning_effort",
        )
    return fitting
