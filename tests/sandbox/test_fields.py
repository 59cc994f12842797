"""Fields of requests to the sandbox."""

import pytest
from marshmallow import RAISE, Schema

from app.sandbox.errors import SandboxError
from app.sandbox.fields import Text, boolean, integer, loaded, number


class Asked(Schema):
    """Some fields."""

    class Meta:
        """Others are rejected."""

        unknown = RAISE

    count = integer(1, 3)
    share = number(0, 1)
    flag = boolean()
    texts = Text(allow_none=True)


def test_null_is_absent_and_one_text_is_a_list() -> None:
    assert loaded(Asked(), {"count": None, "flag": False, "texts": "a"}) == {
        "flag": False,
        "texts": ("a",),
    }


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"count": 4}, "count"),
        ({"count": "1"}, "count"),
        ({"share": 1.5}, "share"),
        ({"flag": 1.5}, "flag"),
        ({"texts": [1]}, "texts"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_the_invalid_field_is_named(body: dict[str, object], param: str) -> None:
    with pytest.raises(SandboxError) as caught:
        loaded(Asked(), body)
    assert caught.value.param == param


def test_a_body_is_an_object() -> None:
    with pytest.raises(SandboxError, match="JSON object"):
        loaded(Asked(), [])
