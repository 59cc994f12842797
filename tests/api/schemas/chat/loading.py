"""A chat request that may be refused: the least one, and where it is wrong."""

from typing import Any

import pytest

from app.api.schemas.chat.request import load_chat_request
from app.formats import strict_json
from app.vocabulary.chat.message import Message
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.errors import InvalidRequest

USER = {"role": "user", "content": "a secret question"}
LEAST = {"model": "openai/m", "messages": [USER]}

Wrong = tuple[str, str]


def load(**fields: Any) -> ChatRequest:
    """Return the request with these fields."""
    return load_chat_request({**LEAST, **fields})


def only(message: Any) -> Message:
    """Return a message as it is read after a user's."""
    return load(messages=[USER, message]).messages[1]


def problem(**fields: Any) -> Wrong:
    """Return the param and the code with which a request is refused; it must be refused."""
    with pytest.raises(InvalidRequest) as caught:
        load(**fields)
    error = caught.value
    body = strict_json.dump(error.body())
    assert error.status == 400
    assert len(body) < 1000
    assert b"secret" not in body
    assert error.param is not None
    assert str(error).startswith(f"`{error.param}` ")
    return error.param, str(error.code)


def message_problem(message: Any) -> Wrong:
    """Return the param, below its message, and the code with which a message is refused."""
    param, code = problem(messages=[USER, message])
    assert param.startswith("messages[1]")
    return param.removeprefix("messages[1]").removeprefix("."), code
