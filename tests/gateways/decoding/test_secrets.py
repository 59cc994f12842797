"""Nothing that looks like a secret is passed on or stored, in whatever form a vendor repeats it."""

import time

import pytest

from app.gateways.decoding.secrets import HIDDEN, hide_secrets

#: A secret in each text, written here in two parts, so that no scanner takes it for a real one.
SECRET = "Ab1cdef0" + "123456789abcdef"

FORMS = (
    "bearer {}",
    "Authorization: Bearer  {}",
    "authorization: Basic dXNl{}==",
    "https://user:{}@proxy.example/v1",
    "https://user:p@{}@proxy.example/v1",
    "redis://:{}@redis:6379",
    '{{"api_key": "{}"}}',
    "x-api-key: {}",
    "api_key='{}'",
    "apikey={}",
    "password={}",
    "secret_access_key={}",
    "Incorrect API key provided: {}",
    '"access_token":"{}"',
    "X-Amz-Signature={}&x",
    "client_secret: GOCSPX-{}",
    "ya29.{}",
    "ghp_{}",
    "github_pat_{}",
    "glpat-{}",
    "pplx-{}",
    "SK-{}",
    "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\\n{}",
)


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_hidden_and_what_is_around_it_stays(form: str) -> None:
    hidden = hide_secrets(f"The vendor says: {form.format(SECRET)} (request 12)")
    assert SECRET[4:] not in hidden
    assert HIDDEN in hidden
    assert hidden.startswith("The vendor says: ")


@pytest.mark.parametrize(
    "text",
    [
        "task-specific limits for this model",
        "The key is invalid",
        "max_tokens: 100 is too large; token: 4096",
        "Bearer token is missing",
        "The password must be set: see https://example.com/docs?a=user@example.com",
        "Retry with request id 3f2a9c7d5b1e4f60a1b2c3d4e5f60718",
        "Basic models are not available",
        "hf_hub_download failed",
    ],
)
def test_ordinary_words_and_request_ids_stay(text: str) -> None:
    assert hide_secrets(text) == text


@pytest.mark.parametrize(
    "part", ["eyJ-", "key:", "://", "basic ", "sk", "password=", "-----BEGIN PRIVATE KEY-----", "a"]
)
def test_a_megabyte_made_to_be_slow_is_not(part: str) -> None:
    began_s = time.monotonic()
    hide_secrets(part * (2**20 // len(part)))
    assert time.monotonic() - began_s < 30  # it would take an hour
