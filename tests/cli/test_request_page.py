"""One request in words."""

import pytest

from app.cli.request_page import MEANINGS, request_lines
from app.ledger.posting import Entry
from app.vocabulary.statuses import STATUSES
from tests.support.events import usage_event


def page(**changes: object) -> str:
    return "\n".join(request_lines(Entry(usage_event(**changes))))


def test_every_status_is_explained() -> None:
    assert MEANINGS.keys() == STATUSES


def test_a_status_of_a_later_version_is_shown() -> None:
    assert "paused: of a later version" in page(status="paused")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "unknown: there is no price"),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, "nothing was used"),
        ({"vendor_served": "spare", "service_tier": "flex"}, "spare/m-2026-01-01 (flex)"),
        ({"client_retry_count": 2}, "Client retries"),
        ({"first_token_ms": None}, "90 ms\n"),
    ],
)
def test_what_matters_is_said(changes: dict[str, object], words: str) -> None:
    assert words in page(**changes)


def test_what_does_not_apply_is_left_out() -> None:
    text = page(vendor_served=None, model_served=None, http_status=None)
    assert "Served by" not in text
    assert "Vendor's status" not in text
    assert "Error" not in text
