"""What Flask rejects by itself reaches callers in Tollgate's words."""

import pytest
from flask import Flask
from werkzeug.exceptions import HTTPException, default_exceptions

from app.api import register_api
from app.api.http_errors import from_http

app = Flask("api", static_folder=None)
register_api(app)


@pytest.mark.parametrize("kind", default_exceptions.values(), ids=lambda it: it.__name__)
def test_no_sentence_of_the_framework_is_left(kind: type[HTTPException]) -> None:
    with app.test_request_context("/v1/completions", method="POST"):
        error = from_http(kind())
    assert error.status == kind.code
    assert error.code is not None
    assert error.message.endswith(".")
    assert str(kind.description) not in error.message
    assert (error.type == "server_error") == (error.status >= 500)


def test_every_route_of_the_api_is_offered_as_callers_write_it() -> None:
    message = app.test_client().get("/v5").get_json()["error"]["message"]
    assert "`GET /v5/models/{model_id}`" in message
    assert "<" not in message
