"""The name of a model in answers: `vendor/name`, which callers can send back as `model`. No I/O."""

from app.serving.routing import Plan, is_pattern
from app.vocabulary.text import TEXT_LIMIT


def sendable(plan: Plan, reported: str) -> str:
    """Return the name of the model that served a request, after the vendor entry that was called.

    It is the vendor's own name of it, such as `openai/gpt-4o-2024-08-06`. It is the name that the
    call asked for if the vendor cannot be asked for the one that it reports.
    """
    name = reported if plan.reports_names and _is_name(reported) else plan.candidate.model_name
    return f"{plan.vendor.name}/{name}"


def _is_name(name: str) -> bool:
    """Whether requests may have the name after `vendor/`."""
    is_plain = name.strip() == name and not name.startswith("/") and not is_pattern(name)
    return bool(name) and is_plain and len(name) <= TEXT_LIMIT // 2
