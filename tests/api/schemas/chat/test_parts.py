"""The parts of a content: each known one is checked, and none is lost."""

from typing import Any

import pytest

from app.api.schemas.chat.checks import ELEMENTS_LIMIT
from app.vocabulary.chat.parts import AudioPart, FilePart, ImagePart, Part, RefusalPart, TextPart
from tests.api.schemas.chat.loading import message_problem, only

MISSING, TYPE, VALUE = "missing_required_parameter", "invalid_type", "invalid_value"
TEXT = {"type": "text", "text": "x"}
IMAGE = {"type": "image_url", "image_url": {"url": "https://ex.org/a.png", "detail": "low"}}


def read(part: Any, role: str = "user") -> Part:
    """Return a part as it is read."""
    more = {"tool_call_id": "c1"} if role == "tool" else {}
    return only({"role": role, "content": [part], **more}).parts[0]


def test_a_text_and_a_refusal_are_texts() -> None:
    part = read(TEXT)
    assert part == TextPart(text="x", source=TEXT, path="messages[1].content[0]")
    refusal = read({"type": "refusal", "refusal": "no"}, "assistant")
    assert isinstance(refusal, RefusalPart)
    assert refusal.text == "no"


def test_a_text_over_which_a_client_has_spread_its_message_is_a_text() -> None:
    """OpenAI's Agents for Node does that to each reply that it sends back."""
    part = {**TEXT, "cache_control": {"type": "ephemeral"}}
    spread: dict[str, Any] = {**part, "role": "assistant", "refusal": None, "tool_calls": [{}]}
    assert read(spread, "assistant").source == part
    assert read({**TEXT, "x": 1}, "assistant").source == {**TEXT, "x": 1}


def test_an_image_has_a_url_and_a_detail() -> None:
    part = read(IMAGE)
    assert isinstance(part, ImagePart)
    assert (part.url, part.detail) == ("https://ex.org/a.png", "low")
    data = read({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}})
    assert isinstance(data, ImagePart)
    assert data.detail is None


def test_a_sound_has_data_and_a_format() -> None:
    part = read({"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}})
    assert isinstance(part, AudioPart)
    assert (part.data, part.format) == ("AA==", "wav")


def test_a_file_has_data_or_an_id() -> None:
    data = "data:application/pdf;base64,JVBERi0="
    part = read({"type": "file", "file": {"filename": "a.pdf", "file_data": data, "file_id": None}})
    assert isinstance(part, FilePart)
    assert (part.data, part.file_id, part.filename) == (data, None, "a.pdf")
    assert part.source == {"type": "file", "file": {"filename": "a.pdf", "file_data": data}}
    part = read({"type": "file", "file": {"file_id": "file-1"}})
    assert isinstance(part, FilePart)
    assert part.file_id == "file-1"


def test_a_part_of_an_unknown_type_is_left_to_the_vendor() -> None:
    source = {"type": "video_url", "video_url": {"url": "https://ex.org/a.mp4"}}
    assert read(source) == Part(type="video_url", source=source, path="messages[1].content[0]")


def test_a_cache_mark_stays_and_nulls_go() -> None:
    mark = {"type": "ephemeral", "ttl": "1h"}
    part = read({**TEXT, "cache_control": mark, "prompt_cache_breakpoint": None})
    assert part.cache_control == mark
    assert part.source == {**TEXT, "cache_control": mark}
    assert read({"type": "image_url", "image_url": {"url": "u", "detail": None}}).source == {
        "type": "image_url",
        "image_url": {"url": "u"},
    }


def test_a_tools_message_may_have_an_image() -> None:
    assert isinstance(read(IMAGE, "tool"), ImagePart)


@pytest.mark.parametrize(
    ("part", "wrong"),
    [
        ("x", ("", TYPE)),
        (None, ("", TYPE)),
        ({}, (".type", MISSING)),
        ({"type": 1}, (".type", TYPE)),
        ({"type": "text"}, (".text", MISSING)),
        ({"type": "text", "text": None}, (".text", MISSING)),
        ({"type": "text", "text": ["x"]}, (".text", TYPE)),
        ({"type": "image_url"}, (".image_url", MISSING)),
        ({"type": "image_url", "image_url": "https://ex.org"}, (".image_url", TYPE)),
        ({"type": "image_url", "image_url": {}}, (".image_url.url", MISSING)),
        ({"type": "image_url", "image_url": {"url": 1}}, (".image_url.url", TYPE)),
        ({"type": "image_url", "image_url": {"url": ""}}, (".image_url.url", VALUE)),
        (
            {"type": "image_url", "image_url": {"url": "u", "detail": "huge"}},
            (".image_url.detail", VALUE),
        ),
        ({"type": "input_audio", "input_audio": {}}, (".input_audio.data", MISSING)),
        ({"type": "input_audio", "input_audio": {"data": "A"}}, (".input_audio.format", MISSING)),
        ({"type": "file", "file": {}}, (".file.file_data", MISSING)),
        ({"type": "file", "file": {"file_data": 1}}, (".file.file_data", TYPE)),
        ({"type": "file", "file": {"file_id": "f", "filename": 1}}, (".file.filename", TYPE)),
        ({"type": "refusal", "refusal": "no"}, (".type", VALUE)),
    ],
)
def test_what_is_wrong_is_named_with_its_path(part: Any, wrong: tuple[str, str]) -> None:
    path, code = message_problem({"role": "user", "content": [TEXT, part]})
    assert (path.removeprefix("content[1]"), code) == wrong


@pytest.mark.parametrize("role", ["system", "developer"])
@pytest.mark.parametrize("part", [IMAGE, {"type": "refusal", "refusal": "no"}])
def test_instructions_are_text(role: str, part: Any) -> None:
    wrong = message_problem({"role": role, "content": [part]})
    assert wrong == ("content[0].type", VALUE)


def test_a_message_may_have_many_parts_but_not_any_number() -> None:
    assert len(only({"role": "user", "content": [TEXT] * 10_000}).parts) == 10_000
    too_many = message_problem({"role": "user", "content": [TEXT] * (ELEMENTS_LIMIT + 1)})
    assert too_many == ("content", VALUE)
