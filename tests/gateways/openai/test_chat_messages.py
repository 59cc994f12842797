"""Messages to OpenAI-compatible vendors: as written, and earlier replies in the vendor's form."""

import json
import re
from typing import Any

import pytest

from app.vocabulary.errors import InvalidRequest, UnsupportedParameter
from tests.gateways.chat_rows import ChatRow
from tests.gateways.openai.chat_vendors import EACH, ENV, ROWS, USER, after_call, call

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/jpg;base64,/9j/", "detail": "low"}}
SOUND = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
FILE = {
    "type": "file",
    "file": {"filename": "a b.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
}
TEXT = {"type": "text", "text": "What is this?"}

#: What a client adds to a reply when it sends it back, beside the reply itself.
NULLS: dict[str, Any] = {"refusal": None, "audio": None, "function_call": None, "name": None}


def sent(row: ChatRow, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages that the vendor gets."""
    found: list[dict[str, Any]] = row.sent("m", list(messages))["messages"]
    return found


@EACH
def test_texts_of_every_role_arrive_as_they_are(row: ChatRow) -> None:
    conversation: list[dict[str, Any]] = [
        {"role": "system", "content": "A"},
        {"role": "system", "content": "B"},
        USER,
        {"role": "assistant", "content": "yes?"},
        USER,
        {"role": "user", "content": ""},
    ]
    assert sent(row, *conversation) == conversation


#: Vendors that reject a list of texts, or that make a message of each of them.
WITHOUT_LISTS = ("deepseek", "ollama", "together")
TEXTS = [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]


@EACH
@pytest.mark.parametrize("role", ["system", "user", "assistant", "tool"])
def test_a_list_of_texts_is_one_string_for_vendors_that_take_no_list(
    row: ChatRow, role: str
) -> None:
    before = after_call("aB3dE6gH9")[:2] if role == "tool" else []
    told = {"role": role, "content": TEXTS, **({"tool_call_id": "aB3dE6gH9"} if before else {})}
    found = sent(row, *before, told, USER)[len(before)]
    assert found["content"] == ("A\nB" if row.vendor.name in WITHOUT_LISTS else TEXTS)


#: Vendors that have a place for refusals, or decide themselves.
WITH_REFUSALS = ("azure", "openai", "openrouter", "sandbox", "xai")


@EACH
@pytest.mark.parametrize(
    ("told", "text"),
    [
        ({"content": None, "refusal": "No."}, "No."),
        ({"refusal": "No."}, "No."),
        ({"content": "Well.", "refusal": "No."}, "Well.\nNo."),
        ({"content": "Well.", "refusal": ""}, "Well."),
        ({"content": [{"type": "refusal", "refusal": "No."}]}, "No."),
        ({"content": [TEXTS[0]], "refusal": "No."}, "A\nNo."),
    ],
)
def test_a_refusal_is_a_text_for_vendors_without_a_place_for_it(
    row: ChatRow, told: dict[str, Any], text: str
) -> None:
    said = {"role": "assistant", **told}
    found = sent(row, USER, said, USER)[1]
    if row.vendor.name in WITH_REFUSALS:
        assert found == said
        return
    assert "refusal" not in found
    content = found["content"]
    assert text == (
        content if isinstance(content, str) else "\n".join(it["text"] for it in content)
    )


@pytest.mark.parametrize("name", ["groq", "mistral", "sglang", "xai"])
def test_a_detail_that_a_vendor_does_not_know_is_refused_by_its_path(name: str) -> None:
    def image(detail: str) -> dict[str, Any]:
        url = {"url": "data:image/png;base64,AA==", "detail": detail}
        return {"role": "user", "content": [{"type": "image_url", "image_url": url}]}

    assert sent(ROWS[name], image("low")) == [image("low")]
    path = "messages[0].content[0].image_url.detail"
    assert ROWS[name].refused("m", [image("original")]) == path


@EACH
def test_a_developer_is_a_system_to_vendors_that_do_not_know_the_role(row: ChatRow) -> None:
    asked = {"role": "developer", "content": "Answer in French"}
    [found, _] = sent(row, asked, USER)
    knows = row.vendor.name in ("openai", "xai")
    assert found == {"role": "developer" if knows else "system", "content": "Answer in French"}


# Parts.


@pytest.mark.parametrize("part", [IMAGE, SOUND, FILE, {"type": "video_url", "video_url": {}}])
@pytest.mark.parametrize("name", ["openai", "vllm", "openrouter", "sandbox"])
def test_parts_arrive_as_they_are(name: str, part: dict[str, Any]) -> None:
    assert sent(ROWS[name], {"role": "user", "content": [TEXT, part]})[0]["content"] == [TEXT, part]


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("azure", [FILE, {"type": "video_url"}, {"type": "x"}]),
        ("fireworks_ai", [SOUND, FILE, {"type": "x"}]),
        ("sglang", [FILE, {"type": "x"}]),
        ("together", [FILE, {"type": "x"}]),
        ("ollama", [SOUND, FILE, {"type": "video_url"}, {"type": "x"}]),
        ("tgi", [SOUND, FILE, {"type": "video_url"}, {"type": "x"}]),
    ],
)
def test_parts_that_a_vendor_cannot_take_are_refused_by_their_path(
    name: str, refused: list[dict[str, Any]]
) -> None:
    row = ROWS[name]
    assert sent(row, {"role": "user", "content": [TEXT, IMAGE]})[0]["content"] == [TEXT, IMAGE]
    for part in refused:
        with pytest.raises(UnsupportedParameter) as caught:
            sent(row, {"role": "user", "content": [TEXT, part]})
        assert caught.value.param == "messages[0].content[1].type"
        assert "`image_url`" in caught.value.message


@pytest.mark.parametrize(
    "url", ["https://ex.org/a.png", "http://169.254.169.254/latest/", "file:///etc/passwd"]
)
def test_an_images_address_is_for_the_vendor_to_fetch_or_refused(url: str) -> None:
    image = {"type": "image_url", "image_url": {"url": url}}
    said = {"role": "user", "content": [image]}
    assert sent(ROWS["openai"], said) == [said]
    with pytest.raises(InvalidRequest) as caught:
        sent(ROWS["ollama"], said)
    assert caught.value.param == "messages[0].content[0].image_url.url"
    assert "`data:`" in caught.value.message


# Earlier replies.


@EACH
@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": ""}])
def test_a_reply_with_calls_comes_back_in_whichever_way(
    row: ChatRow, content: dict[str, Any]
) -> None:
    reply: dict[str, Any] = {
        "role": "assistant",
        **NULLS,
        "annotations": [],
        "parsed": None,
        "tool_calls": [
            {
                **call("aB3dE6gH9"),
                "index": 0,
                "function": {"name": "f", "arguments": "{}", "parsed_arguments": {"a": 1}},
            }
        ],
        **content,
    }
    result = {"role": "tool", "tool_call_id": "aB3dE6gH9", "content": "7"}
    found, answered = sent(row, USER, reply, result)[1:]
    kept = row.vendor.name in ("openrouter", "sandbox")
    assert found["content"] in (None, content.get("content"))
    assert row.vendor.name != "tgi" or found["content"] is None
    assert found["tool_calls"] == [call("aB3dE6gH9")]
    extra = {"annotations"} if kept else set()
    extra |= {"reasoning_content"} if row.vendor.name == "deepseek" else set()
    assert found.keys() == {"role", "content", "tool_calls"} | extra
    assert answered == result


REASONING: dict[str, dict[str, str]] = {
    "azure": {},
    "deepseek": {"reasoning_content": "hm"},
    "fireworks_ai": {"reasoning_content": "hm"},
    "groq": {"reasoning": "hm"},
    "llamacpp": {"reasoning_content": "hm"},
    "llmengine": {"reasoning_content": "hm"},
    "model_zoo": {"reasoning_content": "hm", "reasoning": "hm"},
    "mistral": {},
    "ollama": {"reasoning": "hm"},
    "openai": {},
    "openrouter": {"reasoning": "hm"},
    "sandbox": {"reasoning_content": "hm"},
    "sglang": {"reasoning_content": "hm"},
    "tgi": {},
    "together": {},
    "vllm": {"reasoning_content": "hm", "reasoning": "hm"},
    "xai": {"reasoning_content": "hm"},
}


@EACH
def test_reasoning_comes_back_under_the_name_that_the_vendor_takes(row: ChatRow) -> None:
    found = sent(row, *after_call(reasoning_content="hm"))[1]
    names = {name: found[name] for name in found if name.startswith("reasoning")}
    assert names == REASONING[row.vendor.name]


def test_reasoning_that_a_client_calls_otherwise_is_the_same() -> None:
    found = sent(ROWS["deepseek"], *after_call(reasoning="hm"))[1]
    assert (found["reasoning_content"], found.get("reasoning")) == ("hm", None)


@pytest.mark.parametrize("reply", [{"reasoning_content": ""}, {}])
def test_deepseek_gets_the_reasoning_of_a_reply_with_calls_even_if_there_is_none(
    reply: dict[str, Any],
) -> None:
    assert sent(ROWS["deepseek"], *after_call(**reply))[1]["reasoning_content"] == ""
    said = {"role": "assistant", "content": "a"}
    assert sent(ROWS["deepseek"], USER, said, USER)[1] == said


def test_what_only_replies_have_goes_to_vendors_that_take_it() -> None:
    extra = {"reasoning_details": [{"type": "reasoning.text", "text": "hm", "index": 0}]}
    signed = call("c", extra_content={"google": {"thought_signature": "c2ln"}})
    history = after_call("c", tool_calls=[signed], **extra)
    assert sent(ROWS["openrouter"], *history)[1]["reasoning_details"] == extra["reasoning_details"]
    assert sent(ROWS["sandbox"], *history)[1]["tool_calls"] == [signed]
    found = sent(ROWS["openai"], *history)[1]
    assert found == {"role": "assistant", "content": None, "tool_calls": [call("c")]}


def test_fields_that_a_vendor_may_know_are_not_touched() -> None:
    said = {"role": "assistant", "content": "The capital is ", "prefix": True}
    assert sent(ROWS["mistral"], USER, said) == [USER, said]


# Calls.


IDS = ["functions.get:0", "functions_get_0", "call_" + "x" * 70, "toolu_01ABC", "123456789"]


@pytest.mark.parametrize(
    ("name", "form"), [("mistral", r"[a-zA-Z0-9]{9}"), ("openai", ".{1,40}"), ("azure", ".{1,40}")]
)
def test_ids_take_the_vendors_form_the_same_in_a_call_and_its_result(name: str, form: str) -> None:
    calls = [call(it) for it in IDS]
    results = [{"role": "tool", "tool_call_id": it, "content": "7"} for it in reversed(IDS)]
    said: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": calls}
    history = [USER, said, *results]
    _, said, *answered = sent(ROWS[name], *history)
    theirs = [it["id"] for it in said["tool_calls"]]
    assert all(re.fullmatch(form, it) for it in theirs)
    assert len({*theirs}) == len(IDS)
    assert [it["tool_call_id"] for it in answered] == theirs[::-1]
    assert theirs[-1] == IDS[-1]
    assert sent(ROWS[name], *history) == [USER, said, *answered]


@EACH
def test_arguments_stay_the_text_that_they_are(row: ChatRow) -> None:
    for arguments in ('{"a":1}{"b":2}', '{"a":', "[1]", "null", '{"b": 1, "a": 2}'):
        found = sent(row, *after_call(tool_calls=[call("aB3dE6gH9", arguments)]))[1]
        assert found["tool_calls"][0]["function"]["arguments"] == arguments
    found = sent(row, *after_call(tool_calls=[call("aB3dE6gH9", "")]))[1]
    assert found["tool_calls"][0]["function"]["arguments"] == "{}"


@EACH
def test_calls_without_results_and_results_without_calls_are_the_vendors_to_judge(
    row: ChatRow,
) -> None:
    calls = [call("aB3dE6gH9"), call("bB3dE6gH9")]
    history: list[dict[str, Any]] = [
        USER,
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "cB3dE6gH9", "content": "7"},
        USER,
    ]
    said = sent(row, *history)
    assert [it["role"] for it in said] == [it["role"] for it in history]
    assert said[1]["tool_calls"] == calls
    assert said[2] == history[2]


def test_a_call_of_a_custom_tool_comes_back_as_it_is() -> None:
    custom = {"id": "c", "type": "custom", "custom": {"name": "f", "input": "any text"}}
    assert sent(ROWS["openai"], *after_call("c", tool_calls=[custom]))[1]["tool_calls"] == [custom]


# The old functions.


def test_the_old_functions_reach_vendors_that_know_them() -> None:
    history: list[dict[str, Any]] = [
        USER,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "7"},
    ]
    fields = {"functions": [{"name": "f"}], "function_call": {"name": "f"}}
    body = ROWS["openai"].sent("m", history, **fields)
    assert (body["messages"], body["functions"]) == (history, fields["functions"])
    assert body["function_call"] == {"name": "f"}
    for at, param in ((1, "messages[1].function_call"), (2, "messages[1].role")):
        with pytest.raises(UnsupportedParameter) as caught:
            sent(ROWS["vllm"], USER, history[at])
        assert caught.value.param == param
        assert "`tools`" in caught.value.message


# Cache marks.


MARK = {"type": "ephemeral", "ttl": "1h"}


def test_cache_marks_reach_vendors_that_know_them_and_are_named_elsewhere() -> None:
    history: list[dict[str, Any]] = [
        {"role": "system", "content": [{**TEXT, "cache_control": MARK}, TEXT]},
        {"role": "user", "content": [{**TEXT, "cache_control": MARK}]},
        *after_call("aB3dE6gH9")[1:],
    ]
    history[-1] = {**history[-1], "cache_control": MARK}
    encoded = ROWS["openrouter"].encoded("m", history)
    assert json.loads(encoded.body)["messages"] == history
    assert encoded.dropped == ()
    encoded = ROWS["openai"].encoded("m", history)
    assert b"cache_control" not in encoded.body
    assert b"ephemeral" not in encoded.body
    assert encoded.dropped == ("cache_control",)


def test_an_entry_of_ones_own_may_know_cache_marks() -> None:
    row = ChatRow("vllm", ENV, quirks={"chat": {"cache_control": True}})
    marked = {"role": "user", "content": [{**TEXT, "cache_control": MARK}]}
    assert sent(row, marked) == [marked]
    null = {"role": "user", "content": [{**TEXT, "cache_control": None}]}
    assert ROWS["vllm"].encoded("m", [null]).dropped == ()


def test_a_name_is_left_out_and_told_where_only_tools_have_one() -> None:
    named = {**USER, "name": "Bob"}
    assert sent(ROWS["mistral"], named) == [USER]
    assert ROWS["mistral"].encoded("m", [named]).dropped == ("name",)
    assert sent(ROWS["openai"], named) == [named]


@pytest.mark.parametrize("content", ["", None, [{"type": "text", "text": ""}]])
def test_an_assistants_message_without_anything_is_left_out_where_it_is_rejected(
    content: Any,
) -> None:
    """It is what a reply without text looks like when it comes back."""
    empty = {"role": "assistant", "content": content, "refusal": None}
    assert sent(ROWS["mistral"], USER, empty, USER) == [USER, USER]
    assert len(sent(ROWS["openai"], USER, empty, USER)) == 3
    assert len(sent(ROWS["mistral"], USER, empty | {"reasoning_content": "Hm."}, USER)) == 3
