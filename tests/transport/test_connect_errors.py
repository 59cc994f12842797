"""Why no connection was opened, in words."""

import ssl

import pytest
import urllib3

from app.transport.connect_errors import is_final, reason


def tls_error(library: str | None, why: str | None) -> ssl.SSLError:
    error = ssl.SSLError(1, "boom")
    error.library, error.reason = library, why  # type: ignore[assignment]
    return error


@pytest.mark.parametrize(
    ("error", "words", "final"),
    [
        (
            tls_error("SSL", "WRONG_VERSION_NUMBER"),
            "the TLS handshake failed (wrong version number)",
            False,
        ),
        (tls_error("SSL", None), "the TLS handshake failed", False),
        (tls_error(None, None), "the TLS handshake failed", False),
        (tls_error("PEM", "NO_START_LINE"), "the trusted certificates cannot be read", True),
    ],
)
def test_a_failed_handshake_says_why_where_that_is_known(
    error: ssl.SSLError, words: str, final: bool
) -> None:
    assert reason(error).partition(" (REQ")[0].partition(" (SSL_")[0].startswith(words)
    assert "boom" not in reason(error)
    assert is_final(error) is final


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (9, " (not valid yet)"),
        (10, " (expired)"),
        (18, " (self-signed)"),
        (19, " (signed by an unknown authority)"),
        (20, " (signed by an unknown authority)"),
        (21, " (signed by an unknown authority)"),
        (62, " (issued for another host)"),
        (64, " (issued for another address)"),
        (1, ""),
    ],
)
def test_an_untrusted_certificate_says_what_is_wrong_with_it_and_names_no_host(
    code: int, words: str
) -> None:
    error = ssl.SSLCertVerificationError(1, "not for secret.example")
    error.verify_code = code
    assert reason(error) == f"its TLS certificate is not trusted{words}"
    assert is_final(error)


@pytest.mark.parametrize(
    "why", [tls_error("SSL", "WRONG_VERSION_NUMBER"), ConnectionRefusedError()]
)
def test_the_cause_within_urllib3s_errors_is_told(why: Exception) -> None:
    error = urllib3.exceptions.MaxRetryError(None, "/", why)  # type: ignore[arg-type]
    assert reason(error) == reason(why)
