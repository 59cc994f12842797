"""The model's name in answers: one that can be sent back."""

import pytest

from app.serving.model_names import sendable
from app.vocabulary.text import TEXT_LIMIT
from tests.serving.engine import asked, entry
from tests.serving.test_routing import URL, plan


def test_it_is_the_vendors_own_name_after_the_entry() -> None:
    found = plan(entry("first", URL), asked(model="first/m"))
    assert sendable(found, "m-2026-01-01") == "first/m-2026-01-01"
    assert sendable(found, "org/m:free") == "first/org/m:free"


@pytest.mark.parametrize("reported", ["", " m", "m\n", "/srv/m.gguf", "m*", "m?", "m" * TEXT_LIMIT])
def test_a_name_that_no_request_may_have_gives_way_to_the_requested_one(reported: str) -> None:
    assert sendable(plan(entry("first", URL), asked(model="first/m")), reported) == "first/m"


def test_a_deployment_keeps_its_name_whichever_model_is_behind_it() -> None:
    """Azure reports the model, and can only be asked for the deployment."""
    vendor = entry("mine", URL, gateway="azure", quirks={"api_version": "2024-10-21"})
    found = plan(vendor, asked(model="mine/production"))
    assert sendable(found, "gpt-4o-2024-08-06") == "mine/production"
