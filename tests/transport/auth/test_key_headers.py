"""A vendor's key in the header that its entry's `auth` names."""

import pytest

from app.transport.auth.key_headers import key_headers
from app.vendors.vendor import AUTH_HEADERS, Vendor


def vendor(auth: str, key: str | None = "k") -> Vendor:
    return Vendor(name="v", gateway="openai", base_url="https://v.example", api_key=key, auth=auth)


@pytest.mark.parametrize(
    ("auth", "headers"),
    [
        ("bearer", {"authorization": "Bearer k"}),
        ("basic", {"authorization": "Basic azo="}),  # `k:`
        ("x-api-key", {"x-api-key": "k"}),
        ("api-key", {"api-key": "k"}),
        ("x-goog-api-key", {"x-goog-api-key": "k"}),
    ],
)
def test_a_key_is_sent_as_the_vendor_expects_it(auth: str, headers: dict[str, str]) -> None:
    assert auth in AUTH_HEADERS
    assert key_headers(vendor(auth)) == headers


@pytest.mark.parametrize("key", [None, ""])
@pytest.mark.parametrize("auth", AUTH_HEADERS)
def test_a_vendor_without_a_key_gets_no_header(auth: str, key: str | None) -> None:
    assert key_headers(vendor(auth, key)) == {}
