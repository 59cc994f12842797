"""The forms of Mistral's, SGLang's and TGI's chat that are not OpenAI's."""

from typing import Any

import pytest

from tests.gateways.openai.chat_vendors import ROWS, USER, after_call, call

SOUND = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
PDF = "data:application/pdf;base64,JVBERi0="


def thinking(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


@pytest.mark.parametrize(
    ("part", "theirs"),
    [
        (SOUND, {"type": "input_audio", "input_audio": "UklGRg=="}),
        (
            {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}},
            {"type": "document_url", "document_url": PDF, "document_name": "a.pdf"},
        ),
        (
            {"type": "file", "file": {"file_data": PDF}},
            {"type": "document_url", "document_url": PDF},
        ),
        ({"type": "file", "file": {"file_id": "f-1"}}, {"type": "file", "file_id": "f-1"}),
        (
            {"type": "document_url", "document_url": "https://ex.org/a.pdf"},
            {"type": "document_url", "document_url": "https://ex.org/a.pdf"},
        ),
    ],
)
def test_mistral_has_its_own_forms_of_sounds_and_files(
    part: dict[str, Any], theirs: dict[str, Any]
) -> None:
    [message] = ROWS["mistral"].sent("m", [{"role": "user", "content": [part]}])["messages"]
    assert message["content"] == [theirs]


@pytest.mark.parametrize(
    ("content", "after"),
    [
        ("Seven.", [{"type": "text", "text": "Seven."}]),
        (None, []),
        ("", []),
        ([{"type": "text", "text": "a"}], [{"type": "text", "text": "a"}]),
    ],
)
@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_mistral_gets_its_reasoning_back_as_a_part_of_the_content(
    name: str, content: Any, after: list[Any]
) -> None:
    history = after_call("aB3dE6gH9", content=content, **{name: "hm"})
    found = ROWS["mistral"].sent("m", history)["messages"][1]
    assert found == {
        "role": "assistant",
        "content": [thinking("hm"), *after],
        "tool_calls": [call("aB3dE6gH9")],
    }


def test_without_reasoning_the_content_stays_a_text() -> None:
    said = {"role": "assistant", "content": "a"}
    history = [USER, {**said, "reasoning_content": ""}, USER]
    assert ROWS["mistral"].sent("m", history)["messages"] == [USER, said, USER]


def test_the_seed_has_mistrals_name() -> None:
    assert ROWS["mistral"].sent("m", seed=7)["random_seed"] == 7


@pytest.mark.parametrize("content", ["", None])
def test_tgi_sees_calls_only_beside_no_content(content: str | None) -> None:
    found = ROWS["tgi"].sent("m", after_call("0", content=content))["messages"][1]
    assert found["content"] is None
    kept = ROWS["tgi"].sent("m", after_call("0", content="I look."))["messages"][1]
    assert kept["content"] == "I look."


SAID = {"role": "assistant", "content": "ok"}
TOLD = {"role": "system", "content": "one"}
LATER = {"role": "system", "content": "two"}
RESULT = after_call("aB3dE6gH9")[1:3]


@pytest.mark.parametrize(
    ("asked", "placed"),
    [
        ([TOLD, USER, SAID, LATER, USER], [TOLD, LATER, USER, SAID, USER]),
        ([USER, *RESULT, LATER], [LATER, USER, *RESULT]),
        ([USER, *RESULT, TOLD, LATER, USER], [TOLD, LATER, USER, *RESULT, USER]),
        ([USER, TOLD], [TOLD, USER]),
        ([USER, TOLD, SAID, USER], [USER, TOLD, SAID, USER]),
        ([TOLD, LATER], [TOLD, LATER]),
    ],
)
def test_mistral_gets_instructions_where_it_takes_them(asked: list[Any], placed: list[Any]) -> None:
    assert ROWS["mistral"].sent("m", asked)["messages"] == placed


def test_mistral_continues_a_message_only_if_that_has_a_prefix() -> None:
    row = ROWS["mistral"]
    assert row.refused("m", [USER, SAID]) == "messages[1]"
    assert row.refused("m", [USER, SAID, TOLD]) == "messages[1]"
    prefix = {**SAID, "prefix": True}
    assert row.sent("m", [USER, prefix])["messages"] == [USER, prefix]


@pytest.mark.parametrize(
    ("name", "value"), [("temperature", 1.6), ("temperature", 2), ("seed", -1)]
)
def test_mistral_has_ranges_of_its_own(name: str, value: float) -> None:
    assert ROWS["mistral"].refused("m", **{name: value}) == name


def test_sglang_gets_a_sound_as_a_url() -> None:
    [found] = ROWS["sglang"].sent("m", [{"role": "user", "content": [SOUND]}])["messages"]
    url = {"url": "data:audio/wav;base64,UklGRg=="}
    assert found["content"] == [{"type": "audio_url", "audio_url": url}]
