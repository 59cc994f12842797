"""Google Search: its tool, its sources as annotations, and what it costs."""

from typing import Any

import pytest

from app.gateways.gemini.grounding import STEP_BYTES, annotations, searches
from app.vocabulary.completion import Usage
from tests.gateways.chat_rows import joined, reply_of
from tests.gateways.gemini.chat import GEMINI, NEW, OLD, sent, tool
from tests.gateways.gemini.wire import candidate, event, response

TEXT = "Caf\u00e9s are open."

METADATA: dict[str, Any] = {
    "webSearchQueries": ["cafes", "opening hours", "cafes"],
    "groundingChunks": [
        {"web": {"uri": "https://a.example", "title": "A"}},
        {"web": {"uri": "https://b.example"}},
        {"retrievedContext": {"uri": "gs://c"}},
    ],
    "groundingSupports": [
        {"segment": {"endIndex": 6, "text": "Caf\u00e9s"}, "groundingChunkIndices": [0, 1]},
        {"segment": {"startIndex": 7, "endIndex": 10}, "groundingChunkIndices": [0, 2, 9]},
        {"segment": {"partIndex": 1, "endIndex": 3}, "groundingChunkIndices": [0]},
    ],
}


def cited(start: int, end: int, url: str, title: str = "") -> dict[str, Any]:
    citation = {"start_index": start, "end_index": end, "title": title, "url": url}
    return {"type": "url_citation", "url_citation": citation}


CITED = [
    cited(0, 5, "https://a.example", "A"),
    cited(0, 5, "https://b.example"),
    cited(6, 9, "https://a.example", "A"),
]


@pytest.mark.parametrize("model", [OLD, NEW])
@pytest.mark.parametrize("options", [{}, {"search_context_size": "medium", "user_location": None}])
def test_a_search_is_a_tool_of_googles(model: str, options: Any) -> None:
    assert sent(model, web_search_options=options)["tools"] == [{"googleSearch": {}}]


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"search_context_size": "high"}, "web_search_options.search_context_size"),
        ({"user_location": {"type": "approximate"}}, "web_search_options.user_location"),
    ],
)
def test_what_google_does_not_take_of_a_search_is_refused(fields: Any, path: str) -> None:
    assert GEMINI.refused(NEW, web_search_options=fields) == path


def test_a_search_beside_tools_is_refused() -> None:
    path = GEMINI.refused(NEW, web_search_options={}, tools=[tool("f")])
    assert path == "web_search_options"


@pytest.mark.parametrize(("model", "count"), [(NEW, 2), (OLD, 1)])
def test_sources_are_annotations_and_searches_are_counted(model: str, count: int) -> None:
    counts = {"promptTokenCount": 5, "candidatesTokenCount": 3, "totalTokenCount": 8}
    body = response(candidate(TEXT, groundingMetadata=METADATA), usageMetadata=counts)
    asked: dict[str, Any] = {"web_search_options": {}, "model": model}
    whole = GEMINI.decoded(body, **asked)
    pieces = [
        event(response(candidate(TEXT[:3], finish=None))),
        event(response(candidate(TEXT[3:], finish=None, groundingMetadata=METADATA))),
        event(response({"finishReason": "STOP"}, usageMetadata=counts)),
    ]
    choice, usage = joined(GEMINI.chunks(pieces, **asked))
    expected = Usage(prompt_tokens=5, completion_tokens=3, total_tokens=8, web_search_calls=count)
    assert (whole.usage, usage) == (expected, expected)
    assert (reply_of(whole.choices[0]).extra or {})["annotations"] == CITED
    streamed = (reply_of(choice).extra or {})["annotations"]
    assert [{k: v for k, v in one.items() if k != "index"} for one in streamed] == CITED
    assert whole.choices[0].extra == {"grounding_metadata": METADATA}


def test_a_search_that_was_offered_and_not_made_is_free() -> None:
    counts = {"promptTokenCount": 5, "candidatesTokenCount": 3, "totalTokenCount": 8}
    body = response(candidate(TEXT), usageMetadata=counts)
    usage = GEMINI.decoded(body, NEW, web_search_options={}).usage
    assert usage == Usage(prompt_tokens=5, completion_tokens=3, total_tokens=8)


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"webSearchQueries": 5, "groundingChunks": 5, "groundingSupports": 5},
        {"groundingChunks": [5, {"web": 5}, {"web": {"uri": ""}}]},
        {"webSearchQueries": [5], "groundingSupports": [{"segment": 5}]},
    ],
)
def test_metadata_of_no_use_say_nothing(metadata: Any) -> None:
    assert annotations(metadata, TEXT) == []
    assert searches(metadata, by_query=True) == searches(metadata, by_query=False) == 0


@pytest.mark.parametrize(
    "segment", [{}, {"endIndex": 99}, {"startIndex": 5, "endIndex": 2}, {"endIndex": "x"}]
)
def test_a_segment_that_is_not_in_the_text_is_left_out(segment: Any) -> None:
    support = {"segment": segment, "groundingChunkIndices": [0]}
    assert annotations({**METADATA, "groundingSupports": [support]}, TEXT) == []


@pytest.mark.parametrize(
    ("segment", "span"),
    [
        ({"startIndex": 7, "endIndex": 10, "text": "are"}, (6, 9)),
        ({"startIndex": 9, "endIndex": 12, "text": "are"}, (6, 9)),  # two bytes late
        ({"startIndex": 5, "endIndex": 8, "text": "are"}, (6, 9)),  # two bytes early
        ({"startIndex": 16, "endIndex": 99, "text": "open."}, (10, 15)),  # beyond the end
        ({"endIndex": "x", "text": "open."}, (10, 15)),
        ({"partIndex": 1, "endIndex": 5, "text": "open."}, (10, 15)),
        ({"startIndex": 7, "endIndex": 10, "text": "nowhere"}, (6, 9)),
        ({"startIndex": 7, "endIndex": 10, "text": 5}, (6, 9)),
    ],
)
def test_a_segment_is_where_its_text_is(segment: Any, span: tuple[int, int]) -> None:
    """Google's counts were seen to drift by two bytes in the second half of an answer."""
    support = {"segment": segment, "groundingChunkIndices": [0]}
    found = annotations({**METADATA, "groundingSupports": [support]}, TEXT)
    assert found == [cited(*span, "https://a.example", "A")]


def test_of_two_places_a_segment_is_in_the_nearest() -> None:
    metadata = {"groundingChunks": METADATA["groundingChunks"]}
    for start, at in ((0, 0), (3, 0), (7, 8), (9, 8), (99, 8)):
        segment = {"startIndex": start, "endIndex": start + 3, "text": "Oh."}
        supports = [{"segment": segment, "groundingChunkIndices": [0]}]
        (only,) = annotations({**metadata, "groundingSupports": supports}, "Oh. Ah. Oh.")
        assert only["url_citation"]["start_index"] == at


def test_a_segment_of_another_part_that_is_nowhere_is_left_out() -> None:
    segment = {"partIndex": 1, "endIndex": 3, "text": "nowhere"}
    support = {"segment": segment, "groundingChunkIndices": [0]}
    assert annotations({**METADATA, "groundingSupports": [support]}, TEXT) == []


def test_any_number_of_segments_is_searched_for_up_to_a_limit() -> None:
    text, count = "\u00e9 word " * 20_000, 2_000
    there = {"startIndex": 3, "endIndex": 7, "text": "word"}
    moved = {"startIndex": 0, "endIndex": 2, "text": "nowhere"}
    supports = [{"segment": it, "groundingChunkIndices": [0]} for it in [moved] * count + [there]]
    chunks = [{"web": {"uri": "https://a.example", "title": "A"}}]
    found = annotations({"groundingChunks": chunks, "groundingSupports": supports}, text)
    spans = [(it["url_citation"]["start_index"], it["url_citation"]["end_index"]) for it in found]
    assert spans == [(0, 1)] * count + [(2, 6)]


@pytest.mark.parametrize("at", range(0, 3 * STEP_BYTES, 997))
def test_characters_are_counted_from_bytes_anywhere(at: int) -> None:
    text = "a\u00e9\u20ac\U0001f600" * STEP_BYTES
    raw = text.encode()
    segment = {"startIndex": at, "endIndex": at + 5}
    supports = [{"segment": segment, "groundingChunkIndices": [0]}]
    chunks = [{"web": {"uri": "https://a.example"}}]
    (found,) = annotations({"groundingChunks": chunks, "groundingSupports": supports}, text)
    start, end = (len(raw[:it].decode("utf-8", "ignore")) for it in (at, at + 5))
    cited = found["url_citation"]
    assert (cited["start_index"], cited["end_index"]) == (start, end)
