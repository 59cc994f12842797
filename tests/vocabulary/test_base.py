"""What all errors have in common: the body, sentences that are added, and the word on retries."""

import pytest

from app.vocabulary.errors import SHOULD_RETRY, TollgateError, is_retried


class Final(TollgateError):
    """It fails again."""

    retry = "no"


def test_clients_retry_these_statuses_by_themselves() -> None:
    assert [it for it in (400, 401, 404, 408, 409, 422, 429, 451, 500, 503) if is_retried(it)] == [
        408,
        409,
        429,
        500,
        503,
    ]


def test_what_fails_again_says_so_where_a_client_would_retry() -> None:
    assert Final("x").headers == {SHOULD_RETRY: "false"}
    assert Final("x", headers={SHOULD_RETRY: "true"}).headers == {SHOULD_RETRY: "true"}
    assert TollgateError("x").headers == {}


@pytest.mark.parametrize(("first", "joined"), [("No.", "No. Yes."), ("No", "No. Yes.")])
def test_a_sentence_is_added_after_a_full_stop(first: str, joined: str) -> None:
    error = TollgateError(first)
    error.add("Yes.")
    assert (str(error), error.message) == (joined, joined)
    noted = TollgateError(first)
    noted.note = "Yes."
    assert noted.body()["error"]["message"] == joined
    assert noted.message == first


def test_the_context_is_added_to_the_body() -> None:
    body = TollgateError("x").body(request_id="req_1", doc_url="/docs")["error"]
    assert (body["request_id"], body["doc_url"]) == ("req_1", "/docs")
