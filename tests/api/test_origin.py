"""The address by which a caller reaches Tollgate, for messages to the same caller."""

import pytest

from app.api.origin import origin


@pytest.mark.parametrize(
    ("host", "scheme", "forwarded", "found"),
    [
        ("gate.example", "http", None, "http://gate.example"),
        ("gate.example:8000", "http", "http", "http://gate.example:8000"),
        ("gate.example", "http", "https", "https://gate.example"),
        ("gate.example", "https", None, "https://gate.example"),
        ("[2001:db8::1]:8000", "http", None, "http://[2001:db8::1]:8000"),
        ("", "http", None, ""),
        ("a b", "http", None, ""),
        ("<script>", "http", None, ""),
        ("gate.example/evil", "http", None, ""),
        ("user@gate.example", "http", None, ""),
        ("gate.example\n", "http", None, ""),
    ],
)
def test_a_plain_host_is_an_address_and_anything_else_is_not(
    host: str, scheme: str, forwarded: str | None, found: str
) -> None:
    environ = {"HTTP_HOST": host, "wsgi.url_scheme": scheme}
    if forwarded is not None:
        environ["HTTP_X_FORWARDED_PROTO"] = forwarded
    assert origin(environ) == found


def test_a_request_without_a_host_has_none() -> None:
    assert origin({"wsgi.url_scheme": "http"}) == ""
