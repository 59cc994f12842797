"""What is beside the text of OpenAI-compatible vendors' replies to callers of chat."""

from typing import Any

import pytest
from hypothesis import given

from app.vocabulary.chat.reply import Reply
from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.completion import Choice
from app.vocabulary.errors import GatewayError, VendorFailed
from tests.gateways.chat_rows import ChatRow, message_of, reply_of
from tests.gateways.openai.chat_vendors import EACH, ROWS, USER, call
from tests.gateways.openai.chat_wire import USAGE, answer, message
from tests.gateways.rows import bodies

OPENAI = ROWS["openai"]


def only(body: Any, row: ChatRow = OPENAI, **fields: Any) -> Choice:
    """Return the only choice of a whole answer."""
    (choice,) = row.decoded(body, **fields).choices
    return choice


@EACH
def test_a_plain_answer_is_a_text_and_nothing_else(row: ChatRow) -> None:
    completion = row.decoded(answer(message("a"), usage=USAGE, system_fingerprint="f"))
    assert completion.choices == (Choice(0, "a", "stop"),)
    assert (completion.system_fingerprint, completion.extra) == ("f", None)
    assert completion.usage is not None


@EACH
def test_what_a_message_has_is_kept(row: ChatRow) -> None:
    """Null keys and empty calls, as of LLM Engine, are none."""
    found = only(
        answer(
            message(
                "a",
                refusal=None,
                audio=None,
                tool_calls=[],
                function_call=None,
                reasoning_content="hm",
                annotations=[{"type": "url_citation", "url_citation": {}}],
                images=[{"image_url": {"url": "data:image/png;base64,AA=="}}],
            )
        ),
        row,
    )
    assert found == Choice(
        0,
        "a",
        "stop",
        reply=Reply(
            "hm",
            extra={
                "annotations": [{"type": "url_citation", "url_citation": {}}],
                "images": [{"image_url": {"url": "data:image/png;base64,AA=="}}],
            },
        ),
    )


@pytest.mark.parametrize(
    ("fields", "reasoning", "extra"),
    [
        ({"reasoning_content": "hm"}, "hm", None),
        ({"reasoning": "hm"}, "hm", None),
        ({"reasoning": "hm", "reasoning_content": "hm"}, "hm", None),
        ({"reasoning": None, "reasoning_content": "hm"}, "hm", None),
        ({"reasoning": "", "reasoning_content": None}, "", None),
        ({"reasoning": {"a": 1}}, "", {"reasoning": {"a": 1}}),
    ],
)
def test_reasoning_has_two_names(fields: dict[str, Any], reasoning: str, extra: Any) -> None:
    reply = reply_of(only(answer(message("a", **fields))))
    assert (reply.reasoning, reply.extra) == (reasoning, extra)


def test_a_refusal_is_a_refusal() -> None:
    found = only(answer(message(None, refusal="No.")))
    assert found == Choice(0, "", "stop", reply=Reply(refusal="No."))


# Calls.


def test_calls_are_counted_by_their_places_and_end_the_choice() -> None:
    calls = [call("a", '{"x": 1}', index=0), {**call("b"), "index": 0}]
    found = only(answer(message(None, "tool_calls", tool_calls=calls)))
    assert found.finish_reason == "tool_calls"
    assert reply_of(found).tool_calls == (
        ToolCall(0, "a", "f", '{"x": 1}'),
        ToolCall(1, "b", "f", "{}"),
    )


def test_a_single_call_may_come_without_a_list() -> None:
    found = only(answer(message(None, "stop", tool_calls=call("a", "{}"))))
    assert found.finish_reason == "tool_calls"
    assert reply_of(found).tool_calls == (ToolCall(0, "a", "f", "{}"),)


@EACH
@pytest.mark.parametrize("finish", ["stop", "tool_calls", "", None])
def test_a_vendor_may_say_stop_or_nothing_beside_calls(row: ChatRow, finish: Any) -> None:
    found = only(answer(message(None, finish, tool_calls=[call()])), row)
    assert found.finish_reason == "tool_calls"


@EACH
@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_a_limit_or_a_filter_outranks_calls(row: ChatRow, finish: str) -> None:
    cut = call(arguments='{"city":"Pa')
    found = only(answer(message(None, finish, tool_calls=[cut])), row)
    assert found.finish_reason == finish
    assert reply_of(found).tool_calls[0].arguments == '{"city":"Pa'


def test_calls_that_are_none_end_nothing() -> None:
    assert only(answer(message("a", "tool_calls", tool_calls=[]))) == Choice(0, "a", "stop")


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ({"id": "c", "function": {"name": "f", "arguments": ""}}, ("c", "f", "{}")),
        ({"id": "c", "function": {"name": "f"}}, ("c", "f", "{}")),
        ({"id": "c", "function": {"name": "f", "arguments": None}}, ("c", "f", "{}")),
        ({"id": "c", "function": {"name": "f", "arguments": "null"}}, ("c", "f", "{}")),  # Groq
        (
            {"id": "c", "function": {"name": "f", "arguments": {"a": [1, "é"]}}},
            ("c", "f", '{"a":[1,"é"]}'),
        ),
        ({"id": "c", "function": {"name": "f", "arguments": '{"a": 1}'}}, ("c", "f", '{"a": 1}')),
        ({"id": "0", "type": None, "function": {"name": "f"}}, ("0", "f", "{}")),
        ({"id": "c", "type": "", "function": "f"}, ("c", "f", "{}")),
    ],
)
def test_a_call_has_a_type_and_a_text_of_arguments(
    said: dict[str, Any], read: tuple[str, str, str]
) -> None:
    (found,) = reply_of(only(answer(message(None, tool_calls=[said])))).tool_calls
    assert (found.id, found.name, found.arguments) == read
    assert found.type == "function"


@pytest.mark.parametrize("missing", [{}, {"id": None}, {"id": ""}, {"id": "null"}])
def test_a_call_without_an_id_gets_one(missing: dict[str, Any]) -> None:
    said = {"function": {"name": "f", "arguments": "{}"}, **missing}
    first, second = reply_of(only(answer(message(None, tool_calls=[said, said])))).tool_calls
    assert first.id
    assert second.id
    assert first.id != second.id
    assert len(first.id) <= 40


def test_a_custom_call_has_its_input() -> None:
    said = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    (found,) = reply_of(only(answer(message(None, tool_calls=[said])))).tool_calls
    assert found == ToolCall(0, "c", "sql", "select 1", "custom")


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ({"type": "function", "custom": {"name": "", "input": ""}}, ("f", "{}", "function")),
        ({"type": "function", "custom": None}, ("f", "{}", "function")),
        ({"custom": {"name": "", "input": ""}}, ("f", "{}", "function")),
        ({"type": "custom", "custom": {"name": "g", "input": "x"}}, ("g", "x", "custom")),
    ],
)
def test_a_call_may_name_both_kinds_and_have_one(
    said: dict[str, Any], read: tuple[str, str, str]
) -> None:
    """Snowflake writes every field of OpenAI's types, empty where there is nothing."""
    both = {"id": "c", "function": {"name": "f", "arguments": "{}"}, **said}
    (found,) = reply_of(only(answer(message(None, tool_calls=[both])))).tool_calls
    assert (found.name, found.arguments, found.type) == read


HOLLOW: dict[str, Any] = {
    "audio": {"data": "", "expires_at": 0, "id": "", "transcript": ""},
    "function_call": {"arguments": "", "name": ""},
    "refusal": "",
    "annotations": None,
}


def test_empty_fields_of_the_contract_are_none() -> None:
    assert only(answer(message("a", "stop", **HOLLOW))) == Choice(0, "a", "stop")
    found = only(answer(message("", "", tool_calls=[call("c", "{}")], **HOLLOW)))
    assert found.finish_reason == "tool_calls"
    assert reply_of(found).extra is None


def test_a_signature_of_a_call_stays_with_it() -> None:
    signed: dict[str, Any] = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    calls = [call("a", **signed), call("b")]
    found = only(answer(message(None, "tool_calls", tool_calls=calls)), ROWS["sandbox"])
    assert [it.extra for it in reply_of(found).tool_calls] == [signed, None]
    back = ROWS["sandbox"].sent("m", [USER, message_of(found), USER])["messages"][1]
    assert back["tool_calls"] == calls


def test_an_old_call_is_the_messages() -> None:
    called = {"name": "f", "arguments": "{}"}
    found = only(answer(message(None, "function_call", function_call=called)))
    assert reply_of(found).extra == {"function_call": called}
    assert found.finish_reason == "function_call"


# Content in parts.


def thinking(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **more}


def test_content_in_parts_is_a_text_and_reasoning() -> None:
    reference = {"type": "reference", "reference_ids": [1]}
    parts = [
        thinking("h"),
        thinking("m"),
        {"type": "text", "text": "A"},
        reference,
        {"type": "text", "text": "B"},
    ]
    found = only(answer(message(parts)), ROWS["mistral"])
    assert (found.text, found.reply) == ("AB", Reply("hm", extra={"content_parts": [reference]}))


@pytest.mark.parametrize("thought", [{"thinking": "hm"}, {"thinking": [{"text": "hm"}]}])
def test_a_thought_is_a_text_or_parts(thought: dict[str, Any]) -> None:
    found = only(answer(message([{"type": "thinking", **thought}])))
    assert reply_of(found).reasoning == "hm"


def test_a_signed_thought_goes_back_as_it_came() -> None:
    parts = [thinking("hm", signature="c2ln"), {"type": "text", "text": "A"}]
    said = message(parts, "tool_calls", tool_calls=[call("aB3dE6gH9")])
    found = only(answer(said), ROWS["mistral"])
    assert (found.text, reply_of(found).reasoning) == ("A", "hm")
    back = ROWS["mistral"].sent("m", [USER, message_of(found), USER])["messages"][1]
    assert back == {**said["message"]}


@pytest.mark.parametrize("content", [5, {"text": "a"}, True])
def test_content_of_another_kind_is_a_failure(content: Any) -> None:
    with pytest.raises(VendorFailed):
        OPENAI.decoded(answer(message(content)))


@given(
    bodies(
        "choices", "message", "content", "tool_calls", "function", "type", "thinking", "arguments"
    )
)
def test_no_body_makes_anything_but_an_answer_or_a_vendors_error(body: bytes) -> None:
    try:
        completion = OPENAI.decoded(body, logprobs=True)
    except GatewayError:
        return
    assert completion.choices
