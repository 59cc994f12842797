import socket
from typing import Any

import pytest

from app.gateways.bedrock.parts import PartEncoder
from app.gateways.conversation.omissions import Omissions
from app.vocabulary.chat.parts import FilePart
from tests.gateways.bedrock.chat import BUDGETS, ROW, sent

TEXT = {"type": "text", "text": "look"}
OFFICE = "application/vnd.openxmlformats-officedocument"


def image(url: str, **fields: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, **fields}}


def file(kind: str, name: str | None = "a.x") -> dict[str, Any]:
    return {"type": "file", "file": {"filename": name, "file_data": f"data:{kind};base64,AAAA"}}


def asks(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [TEXT, *parts]}]


def blocks(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks of parts after a text."""
    (turn,) = sent(BUDGETS, asks(*parts))["messages"]
    return list(turn["content"][1:])


@pytest.mark.parametrize(("kind", "word"), [("jpg", "jpeg"), ("png", "png"), ("webp", "webp")])
def test_an_image_has_the_vendors_word(kind: str, word: str) -> None:
    (found,) = blocks(image(f"data:image/{kind};base64,AAAA"))
    assert found == {"image": {"format": word, "source": {"bytes": "AAAA"}}}


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("application/pdf", "pdf"),
        (f"{OFFICE}.spreadsheetml.sheet", "xlsx"),
        (f"{OFFICE}.wordprocessingml.document", "docx"),
        ("text/plain", "txt"),
        ("text/markdown", "md"),
    ],
)
def test_a_file_has_its_true_format(kind: str, word: str) -> None:
    (found,) = blocks(file(kind))
    assert found["document"]["format"] == word


SOUND = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
VOXTRAL, PREMIER = "mistral.voxtral-small-24b-2507", "us.amazon.nova-premier-v1:0"


@pytest.mark.parametrize(
    ("model", "part", "block", "word"),
    [
        (VOXTRAL, SOUND, "audio", "wav"),
        (VOXTRAL, file("audio/mpeg"), "audio", "mp3"),
        (PREMIER, file("video/mp4"), "video", "mp4"),
        (PREMIER, file("video/3gpp"), "video", "three_gp"),
        (PREMIER, file("video/quicktime"), "video", "mov"),
        (BUDGETS, file("image/jpg"), "image", "jpeg"),
    ],
)
def test_sounds_videos_and_images_have_blocks_where_the_model_takes_them(
    model: str, part: dict[str, Any], block: str, word: str
) -> None:
    (turn,) = sent(model, [{"role": "user", "content": [part, TEXT]}])["messages"]
    assert turn["content"][0] == {block: {"format": word, "source": {"bytes": "AAAA"}}}


def test_a_model_refuses_what_it_does_not_take() -> None:
    assert ROW.refused(PREMIER, asks(SOUND)) == "messages[0].content[1].type"
    path = "messages[0].content[1].file.file_data"
    assert ROW.refused(BUDGETS, asks(file("video/mp4"))) == path
    assert ROW.refused(PREMIER, asks(file("audio/mpeg"))) == path
    odd = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "g722"}}
    assert ROW.refused(VOXTRAL, asks(odd)) == "messages[0].content[1].input_audio.format"


def test_only_a_document_needs_a_text_beside_it() -> None:
    video = [{"role": "user", "content": [file("video/mp4")]}]
    assert [list(block) for block in sent(PREMIER, video)["messages"][0]["content"]] == [["video"]]
    document = [{"role": "user", "content": [file("application/pdf")]}]
    assert ROW.refused(PREMIER, document) == "messages[0].content"


def test_names_of_files_are_legal_and_each_its_own() -> None:
    names = ["a b.pdf", "a b.txt", "a__b.pdf", "\u00e4.pdf", None, "x" * 300]
    found = blocks(*(file("application/pdf", name) for name in names[:5]))
    assert [block["document"]["name"] for block in found] == [
        "a b", "a b 2", "a b 3", "document", "document 2"]  # fmt: skip
    (long,) = blocks(file("application/pdf", names[5]))
    assert len(long["document"]["name"]) <= 200


def test_thousands_of_files_with_one_name_have_each_its_own() -> None:
    """Counted from 1 each time, they would take minutes, in which the process serves nobody."""
    encoder = PartEncoder(ROW.vendor, Omissions(ROW.vendor), frozenset())
    data = "data:application/pdf;base64,AAAA"
    part = FilePart(data=data, filename="a.pdf", source={}, path="messages[0].content[0]")
    names = [encoder.block(part)["document"]["name"] for _ in range(50_000)]
    assert (names[0], names[-1], len(set(names))) == ("a", "a 50000", 50_000)


@pytest.mark.parametrize(
    ("part", "field"),
    [
        (image("http://169.254.169.254/latest/"), "image_url.url"),
        (image("http://127.0.0.1:6379/"), "image_url.url"),
        (image("https://ex.org/a.png"), "image_url.url"),
        (image("file:///etc/passwd"), "image_url.url"),
        (image("gs://x/y"), "image_url.url"),
        (image("data:image/svg+xml;base64,AA=="), "image_url.url"),
        ({"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}, "type"),
        ({"type": "video_url", "video_url": {"url": "x"}}, "type"),
        ({"type": "file", "file": {"file_id": "file-1"}}, "file.file_id"),
        (file("application/zip"), "file.file_data"),
    ],
)
def test_what_has_no_block_is_refused_by_its_path_and_nothing_is_fetched(
    part: dict[str, Any], field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected: list[Any] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _, to: connected.append(to))
    assert ROW.refused(BUDGETS, asks(part)) == f"messages[0].content[1].{field}"
    assert connected == []


def test_an_assistant_says_texts_alone() -> None:
    shown = {"role": "assistant", "content": [image("data:image/png;base64,AA==")]}
    path = "messages[1].content[0].type"
    assert ROW.refused(BUDGETS, [*asks(), shown, *asks()]) == path


def test_a_detail_is_left_out_and_told() -> None:
    encoded = ROW.encoded(BUDGETS, asks(image("data:image/png;base64,AA==", detail="low")))
    assert encoded.dropped == ("detail",)
