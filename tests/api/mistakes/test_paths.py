"""What is said of a path or a method that no route has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.mistakes.clients import Client
from app.api.mistakes.paths import Routes, no_such_path, wrong_method

PATHS = {
    "/v5/completions": ("POST",),
    "/v5/chat/completions": ("POST",),
    "/v5/models": ("GET",),
    "/v5/models/{model_id}": ("GET",),
    "/livez": ("GET",),
    "/docs": ("GET",),
}


def methods_at(path: str) -> tuple[str, ...]:
    """Return the methods of a route; one has a part that varies."""
    return PATHS.get(path, ("GET",) if path.startswith("/v5/models/") else ())


ROUTES = Routes(PATHS, methods_at)
ROOT = "http://gate.example"
CLIENT = Client("The client", "`base_url`", "/v5")


def said(path: str, method: str = "POST", client: Client | None = None) -> str:
    """Return the message for a path."""
    return no_such_path(method, path, ROUTES, ROOT, client).message


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/completions", "POST /v5/completions"),
        ("/api/v1/chat/completions", "POST /v5/chat/completions"),
        ("/v5/v5/v5/models", "GET /v5/models"),
        ("/v1/models/openai/gpt-4o", "GET /v5/models/openai/gpt-4o"),
        ("/v5/docs", "GET /docs"),
        ("/v5/model", "GET /v5/models"),
        ("/v5/chat/completion", "POST /v5/chat/completions"),
        ("/ping", "GET /livez"),
    ],
)
def test_the_nearest_route_is_named(path: str, meant: str) -> None:
    assert f"Did you mean `{meant}`?" in said(path)


def test_the_base_url_is_named_only_where_it_may_be_wrong() -> None:
    assert f"The client needs the `base_url` `{ROOT}/v5`." in said("/completions", client=CLIENT)
    assert f"The API is at `{ROOT}/v5`." in said("/completions")
    assert "base_url" not in said("/v5/embeddings", client=CLIENT)
    assert "The API is at" not in said("/healthz", "GET")


def test_a_client_of_the_responses_api_is_told_how_it_calls_chat() -> None:
    client = Client("The client", "`base_url`", "/v5", "`chat(model)`")
    told = "The client calls chat completions with `chat(model)`."
    assert told in said("/v5/responses", client=client)
    assert told not in said("/v5/embeddings", client=client)
    assert "calls chat completions" not in said("/v5/responses", client=CLIENT)


def test_the_routes_of_a_service_that_has_none_are_nothing() -> None:
    empty = Routes({}, lambda _: ())
    assert "Tollgate has nothing." in no_such_path("GET", "/x", empty, "", None).message


@given(st.text(max_size=300), st.text(max_size=30))
def test_any_path_gets_one_line_of_bounded_length(path: str, method: str) -> None:
    for message in (said(path, method), wrong_method(method, path, ["GET"], ROOT).message):
        assert len(message) < 1000
        assert message.isprintable()
        assert message.endswith("`http://gate.example/docs` describes every route.")
