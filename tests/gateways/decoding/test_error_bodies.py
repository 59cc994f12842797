"""What is an error among the JSON that comes with status 200."""

from typing import Any

import pytest

from app.gateways.decoding.error_bodies import error_in
from app.gateways.decoding.failures import detail_of
from app.vocabulary.errors import GatewayError
from tests.gateways.chat_rows import ChatRow
from tests.gateways.openai.chat_wire import chunk, delta
from tests.support.vendor import DONE, event

ROW = ChatRow("openrouter", {"OPENROUTER_API_KEY": "k"})

#: Errors without the field `error`, each with its message and its status.
BARE: list[tuple[dict[str, Any], str, int | None]] = [
    ({"detail": "Not Found"}, "Not Found", None),
    ({"message": "Endpoint request timed out"}, "Endpoint request timed out", None),
    ({"code": 400, "message": "No.", "type": "Bad Request"}, "No.", 400),
    ({"status": 429, "title": "Too Many Requests", "detail": "Slow down."}, "Slow down.", 429),
    ({"type": "error", "message": "No."}, "No.", None),
    ({"success": False, "msg": "No.", "code": 429}, "No.", 429),
    ({"success": False, "errors": [{"message": "No.", "code": 3043}]}, "No.", None),
    ({"choices": [], "usage": None, "error_code": "429", "error_msg": "No."}, "No.", 429),
    ({"choices": None, "base_resp": {"status_code": 1002, "status_msg": "No."}}, "No.", None),
    ({"object": "error", "message": {"detail": "No."}, "code": 400}, "No.", 400),
]

#: What is none: signs of life, and what has other fields.
ALIVE: list[Any] = [
    None,
    [],
    {},
    {"type": "ping"},
    {"status": "processing", "message": "Loading the model."},
    {"type": "message_start", "message": {"id": "m"}},
    {"success": True, "message": "ok", "code": 0},
    {"base_resp": {"status_code": 0, "status_msg": "success"}, "choices": []},
    {"object": "chat.completion.chunk", "choices": [], "message": "m"},
    {"message": "m", "choices": [{"index": 0}]},
    {"message": "m", "x": 1},
    {"choices": [], "usage": {"prompt_tokens": 1}, "message": "m"},
]


@pytest.mark.parametrize(("body", "message", "status"), BARE)
def test_an_error_may_lack_the_field_of_that_name(
    body: dict[str, Any], message: str, status: int | None
) -> None:
    detail = detail_of(error_in(body))
    assert (detail.message, detail.status) == (message, status)


@pytest.mark.parametrize("body", ALIVE)
def test_what_says_nothing_of_a_failure_is_none(body: Any) -> None:
    assert error_in(body) is None


def test_such_an_error_is_no_end_of_a_text() -> None:
    """Neither before it nor after it, although the end mark follows."""
    bad = {"code": 400, "message": "Bad thing"}
    for before in ([], [chunk(delta(content="hi"))]):
        error = ROW.broken([*before, event(bad), DONE])
        assert (error.message, error.status) == ("Bad thing", 400)
        assert error.billable is bool(before)
    with pytest.raises(GatewayError, match="Bad thing"):
        ROW.decoded(bad)
