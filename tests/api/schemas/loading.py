"""A request that may be refused: the least one, and where it is wrong."""

from typing import Any

import pytest

from app.api.schemas.completion import (
    load_completion_request,
)
from app.formats import strict_json
from app.vocabulary.errors import InvalidRequest

LEAST = {"model": "openai/m", "prompt": "a secret prompt"}


Wrong = tuple[str, str]


def problem(**fields: Any) -> Wrong:
    """Return the param and the code with which a request is refused; it must be refused."""
    with pytest.raises(InvalidRequest) as caught:
        load_completion_request({**LEAST, **fields})
    error = caught.value
    body = strict_json.dump(error.body())
    assert error.status == 400
    assert len(body) < 1000
    assert b"secret" not in body
    assert error.param is not None
    assert str(error).startswith(f"`{error.param}` ")
    return error.param, str(error.code)
