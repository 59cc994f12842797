from typing import Any

import pytest

from tests.gateways.anthropic.chat import BUDGETS, ROW, sent

TEXT = {"type": "text", "text": "look"}
PDF = "data:application/pdf;base64,JVBERi0="


def image(url: str, **fields: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, **fields}}


def file(**fields: Any) -> dict[str, Any]:
    return {"type": "file", "file": fields}


def asks(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": list(parts)}]


def block(part: dict[str, Any]) -> dict[str, Any]:
    """Return the block of a part after a text."""
    (turn,) = sent(BUDGETS, asks(TEXT, part))["messages"]
    found = turn["content"]
    assert found[0] == TEXT
    return dict(found[1])


def test_images_are_blocks_and_jpg_is_jpeg() -> None:
    source = {"type": "base64", "media_type": "image/jpeg", "data": "AAAA"}
    assert block(image("data:image/jpg;base64,AAAA")) == {"type": "image", "source": source}
    url = "https://ex.org/a.png"
    assert block(image(url, detail="auto"))["source"] == {"type": "url", "url": url}


def test_files_are_documents_with_their_names() -> None:
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    document = {"type": "document", "source": source}
    assert block(file(filename="a b.pdf", file_data=PDF)) == {**document, "title": "a b.pdf"}
    assert block(file(file_data=PDF)) == document
    text = {"type": "text", "media_type": "text/plain", "data": "hi"}
    assert block(file(file_data="data:text/plain;base64,aGk="))["source"] == text


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}, "type"),
        ({"type": "video_url", "video_url": {"url": "https://ex.org/a.mp4"}}, "type"),
        ({"type": "x"}, "type"),
        (image("data:image/svg+xml;base64,AA=="), "image_url.url"),
        (image("file:///etc/passwd"), "image_url.url"),
        (file(file_id="file-1"), "file.file_id"),
        (file(file_data="data:application/vnd.ms-excel;base64,AA=="), "file.file_data"),
        (file(file_data="data:text/plain;base64,/w=="), "file.file_data"),
        (file(file_data="data:text/plain;base64,!"), "file.file_data"),
    ],
)
def test_what_has_no_block_is_refused_by_its_path(part: dict[str, Any], field: str) -> None:
    assert ROW.refused(BUDGETS, asks(TEXT, part)) == f"messages[0].content[1].{field}"


def test_an_assistant_says_texts_alone() -> None:
    shown = {"role": "assistant", "content": [TEXT, image("https://ex.org/a.png")]}
    path = "messages[1].content[1].type"
    assert ROW.refused(BUDGETS, [*asks(TEXT), shown, *asks(TEXT)]) == path


def test_an_image_of_another_vendors_model_is_refused() -> None:
    made = {"role": "assistant", "content": None, "images": [image("data:image/png;base64,AA==")]}
    assert ROW.refused(BUDGETS, [*asks(TEXT), made, *asks(TEXT)]) == "messages[1].images"


def test_a_detail_is_left_out_and_told() -> None:
    encoded = ROW.encoded(BUDGETS, asks(TEXT, image("https://ex.org/a.png", detail="low")))
    assert encoded.dropped == ("detail",)
