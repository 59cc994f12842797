from app.gateways.decoding.error_types import status_named


def test_the_first_known_word_counts() -> None:
    assert status_named("rate_limit_error", "invalid_request_error") == 429
    assert status_named("tokens", "rate_limit_exceeded") == 429
    assert status_named("server_error", None) == 500
    assert status_named("service_tier_capacity_exceeded", "3505") == 429
    assert status_named(None, "") is None
