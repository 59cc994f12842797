"""Messages: OpenAI's checks of them, and their words."""

from typing import Any

import pytest

from app.sandbox.chat.messages import (
    LISTED_LIMIT,
    MEDIA_TOKENS,
    check_messages,
    count_tokens,
    words_to_echo,
)
from app.sandbox.errors import SandboxError
from tests.sandbox.chat.asking import USER, called, function, result

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}

_URL = "messages[0].content[0].image_url.url"


def _image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def user(content: Any) -> dict[str, Any]:
    """Return a user's message."""
    return {"role": "user", "content": content}


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [{"role": "system", "content": "be brief"}, USER, {"role": "assistant", "content": ""}],
        [user([{"type": "text", "text": "look"}, IMAGE])],
        [user([_image("HTTPS://ex.org/a.png?b=c"), _image("data:image/svg+xml;base64,AA\nA")])],
        [USER, called("c1", "c2"), result("c2"), result("c1"), USER],
        [USER, {"role": "assistant", "content": None, "refusal": "no"}, USER],
        [USER, {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}],
    ],
)
def test_good_messages_pass(messages: list[dict[str, Any]]) -> None:
    check_messages(messages)


@pytest.mark.parametrize(
    ("messages", "param"),
    [
        ([{"role": "boss", "content": "x"}], "messages[0].role"),
        ([user(None)], "messages[0].content"),
        ([user(7)], "messages[0].content"),
        ([user([])], "messages[0].content"),
        ([user(["x"])], "messages[0].content[0].type"),
        ([user([{"type": "video_url"}])], "messages[0].content[0].type"),
        ([user([{"type": "text"}])], "messages[0].content[0].text"),
        ([user([_image("/home/me/a.png")])], _URL),
        ([user([_image("file:///a.png")])], _URL),
        ([user([_image("www.ex.org/a.png")])], _URL),
        ([user([_image("iVBORw0KGgo=")])], _URL),
        ([user([_image("data:image/png;base64,")])], _URL),
        ([user([_image("data:image/png;base64,@@@@")])], _URL),
        ([user([_image("data:text/plain;base64,AAAA")])], _URL),
        ([user([{"type": "image_url", "image_url": {}}])], _URL),
        ([user([{"type": "image_url", "image_url": "u"}])], "messages[0].content[0].image_url"),
        ([{"role": "system", "content": [IMAGE]}], "messages[0].content[0].type"),
        ([USER, {"role": "assistant", "content": None}], "messages[1].content"),
        ([USER, result("c1")], "messages[1].tool_call_id"),
        ([USER, called("c1"), result("c2")], "messages[2].tool_call_id"),
        ([USER, called("c1"), result("c1"), result("c1")], "messages[3].tool_call_id"),
        ([USER, called("c1", "c2"), result("c1"), USER], "messages"),
        ([USER, called("c1")], "messages"),
        ([{**USER, "tool_calls": called("c1")["tool_calls"]}], "messages[0].tool_calls"),
        ([{"role": "assistant", "content": "", "tool_calls": []}], "messages[0].tool_calls"),
        ([{"role": "assistant", "content": "", "tool_calls": [{}]}], "messages[0].tool_calls[0]"),
        (
            [
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"id": "c", "type": "function", "function": {"arguments": {}}}],
                }
            ],
            "messages[0].tool_calls[0].function",
        ),
    ],
)
def test_what_is_wrong_is_named(messages: list[dict[str, Any]], param: str) -> None:
    with pytest.raises(SandboxError) as caught:
        check_messages(messages)
    assert caught.value.param == param


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([{"role": "system", "content": "be brief"}, USER], "the weather in Rome"),
        ([user("a"), {"role": "assistant", "content": "b"}], "a"),
        ([{"role": "system", "content": "alone"}], "alone"),
        ([user([{"type": "text", "text": "a"}, IMAGE, {"type": "text", "text": "b"}])], "a  b"),
        ([USER, called("c1", "c2"), result("c1", "20"), result("c2", "30 C")], "20 30 C"),
    ],
)
def test_the_last_words_of_the_caller_come_back(messages: list[Any], text: str) -> None:
    assert words_to_echo(messages) == text


def test_tokens_are_words_of_texts_calls_and_tools_and_a_number_for_media() -> None:
    assert count_tokens([USER, user([{"type": "text", "text": "look"}, IMAGE])], []) == (
        4 + 1 + MEDIA_TOKENS
    )
    assert count_tokens([called("c1"), result("c1", "20 C")], []) == 2 + 2
    with_tools = count_tokens([USER], [function("f")])
    assert with_tools > 4


def test_results_may_come_in_any_order_and_a_bounded_number_of_open_calls_is_named() -> None:
    count = 5_000
    calls = [
        {"id": f"c{at}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for at in range(count)
    ]
    asked = [user("hi"), {"role": "assistant", "content": None, "tool_calls": calls}]
    results = [{"role": "tool", "tool_call_id": it["id"], "content": "r"} for it in calls]
    check_messages([*asked, *reversed(results)])
    with pytest.raises(SandboxError) as caught:
        check_messages(asked)
    assert str(caught.value).count("`c") == LISTED_LIMIT
