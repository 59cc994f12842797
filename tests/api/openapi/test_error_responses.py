"""Error responses, generated from error classes."""

from app.api.openapi.error_responses import error_responses, every_error
from app.vocabulary.errors import (
    InvalidAPIKey,
    InvalidRequest,
    LedgerUnavailable,
    TollgateError,
    VendorRejected,
)


def test_every_error_with_a_code_is_found_once() -> None:
    errors = list(every_error())
    assert {TollgateError, InvalidRequest, InvalidAPIKey, LedgerUnavailable} <= set(errors)
    assert len(errors) == len(set(errors))


def test_errors_are_grouped_by_status_with_their_codes() -> None:
    responses = error_responses([LedgerUnavailable, InvalidAPIKey, InvalidRequest])
    assert list(responses) == sorted(responses)
    assert f"`{InvalidAPIKey.code}`" in responses["401"]["description"]
    assert f"`{InvalidRequest.code}`" in responses["400"]["description"]
    example = responses["400"]["content"]["application/json"]["example"]["error"]
    assert (example["code"], example["param"]) == (InvalidRequest.code, "temperature")
    assert example["doc_url"].endswith(f"#{InvalidRequest.code}")
    schema = responses["401"]["content"]["application/json"]["schema"]
    assert schema == {"$ref": "#/components/schemas/Error"}


def test_a_vendors_rejection_has_the_vendors_statuses() -> None:
    statuses = set(error_responses([VendorRejected]))
    assert "400" in statuses
    assert "422" not in statuses


def test_an_error_of_tollgate_is_said_to_be_logged() -> None:
    assert "logged" in error_responses([TollgateError])["500"]["description"]


def test_errors_have_the_headers_that_answers_carry() -> None:
    """Of a vendor's failure, the calls that were made; of what is retried, when and whether."""
    found = error_responses([InvalidAPIKey, LedgerUnavailable])
    assert set(found["401"]["headers"]) == {"x-request-id", "www-authenticate"}
    assert set(found["503"]["headers"]) == {"x-request-id", "retry-after", "x-should-retry"}
    assert "x-tollgate-attempts" in error_responses([VendorRejected])["400"]["headers"]
