"""A body that is not JSON is named by what it is."""

import pytest
from flask import Flask

from app.api.request_json import parsed
from app.vocabulary.errors import InvalidJSON

app = Flask("json")


@pytest.mark.parametrize(
    ("body", "kind", "says"),
    [
        (b"a=b", "application/x-www-form-urlencoded", "a form"),
        (b"hello", "text/plain", "`text/plain`"),
        (b'{"a": 1,}', "application/json", "trailing comma"),
        (b"5", "application/json", "must be a JSON object"),
    ],
)
def test_what_is_no_object_is_named(body: bytes, kind: str, says: str) -> None:
    with (
        app.test_request_context("/", headers={"content-type": kind}),
        pytest.raises(InvalidJSON, match=says),
    ):
        parsed(body)


def test_json_is_read_whatever_its_content_type() -> None:
    with app.test_request_context("/", headers={"content-type": "text/plain"}):
        assert parsed(b'{"a": 1}') == {"a": 1}
