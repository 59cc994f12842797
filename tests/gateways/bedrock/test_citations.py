"""Web pages that Bedrock's replies are grounded on: annotations, and searches that are counted."""

from typing import Any

import pytest

from app.gateways.bedrock.citations import Citations
from app.vocabulary.completion import Choice, Usage
from tests.gateways.bedrock.chat import BUDGETS, LAX, NOVA, ROW, sent
from tests.gateways.chat_rows import joined, reply_of
from tests.support.vendors.bedrock import event_frame

URL = "https://ex.org/rome"
SEARCH = {"toolUseId": "s", "name": "nova_grounding", "type": "server_tool_use"}
RESULT = {"toolUseId": "s", "type": "nova_grounding_result", "content": [], "status": "success"}
COUNTS = {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}


def page(url: Any = URL, **fields: Any) -> dict[str, Any]:
    return {"location": {"web": {"url": url, "domain": "ex.org"}}, **fields}


def quoted(start: int, end: int, title: str = "ex.org", url: str = URL) -> dict[str, Any]:
    cited = {"start_index": start, "end_index": end, "title": title, "url": url}
    return {"type": "url_citation", "url_citation": cited}


def test_a_citation_is_of_its_blocks_text_or_of_the_text_before() -> None:
    found = Citations()
    found.cite(0, [page()])  # nothing is cited
    found.text(0, "Rome ")
    found.text(0, "is old.")
    found.cite(1, [page(), page(title="T")])
    found.text(2, " Oslo")
    found.cite(2, [page("https://ex.org/oslo")])
    found.text(2, " too.")
    assert found.annotations() == [
        quoted(0, 12),
        quoted(0, 12),
        quoted(0, 12, "T"),
        quoted(12, 22, url="https://ex.org/oslo"),
    ]


@pytest.mark.parametrize(
    "citation",
    [None, {}, page(None), page(""), {"location": {"documentPage": {"documentIndex": 0}}}],
)
def test_a_citation_without_a_page_is_no_annotation(citation: Any) -> None:
    found = Citations()
    found.text(0, "A")
    found.cite(0, [citation])
    assert found.annotations() == []


def whole(*content: Any) -> tuple[Choice, Usage | None]:
    body = {"output": {"message": {"content": content}}, "stopReason": "end_turn", "usage": COUNTS}
    completion = ROW.decoded(body, NOVA)
    return completion.choices[0], completion.usage


def streamed(*events: tuple[str, dict[str, Any]]) -> tuple[Choice, Usage | None]:
    frames = [event_frame(kind, fields) for kind, fields in events]
    stop = event_frame("messageStop", {"stopReason": "end_turn"})
    told = event_frame("metadata", {"usage": COUNTS})
    return joined(ROW.chunks([*frames, stop, told], model=NOVA))


def delta(index: int, **fields: Any) -> tuple[str, dict[str, Any]]:
    return "contentBlockDelta", {"contentBlockIndex": index, "delta": fields}


def start(index: int, **fields: Any) -> tuple[str, dict[str, Any]]:
    return "contentBlockStart", {"contentBlockIndex": index, "start": fields}


def test_a_grounded_reply_cites_its_pages_and_its_searches_are_counted() -> None:
    asked = {"toolUse": {**SEARCH, "input": {"q": "Rome"}}}
    answers = [
        whole(
            asked,
            {"toolResult": RESULT},
            {"text": "Rome is old."},
            {"citationsContent": {"citations": [page()]}},
            asked,
            {"citationsContent": {"content": [{"text": " Oslo"}], "citations": [page(title="O")]}},
        ),
        streamed(
            start(0, toolUse=SEARCH),
            delta(0, toolUse={"input": "{}"}),
            start(1, toolResult={"toolUseId": "s"}),
            delta(2, text="Rome is "),
            delta(2, text="old."),
            delta(3, citation=page()),
            start(4, toolUse=SEARCH),
            delta(5, text=" Oslo"),
            delta(5, citation=page(title="O")),
        ),
    ]
    for choice, usage in answers:
        assert (choice.text, choice.finish_reason) == ("Rome is old. Oslo", "stop")
        reply = reply_of(choice)
        assert reply.tool_calls == ()
        annotations = [
            {key: value for key, value in it.items() if key != "index"}
            for it in (reply.extra or {})["annotations"]
        ]
        assert annotations == [quoted(0, 12), quoted(12, 17, "O")]
        assert usage == Usage(
            prompt_tokens=3, completion_tokens=2, total_tokens=5, web_search_calls=2
        )


def test_what_a_guardrail_has_done_is_passed_on() -> None:
    trace = {"guardrail": {"actionReason": "Guardrail blocked."}}
    body = {"output": {"message": {"content": [{"text": "Sorry."}]}}, "trace": trace}
    found = ROW.decoded({**body, "stopReason": "guardrail_intervened", "usage": COUNTS})
    assert found.extra == {"trace": trace}
    assert found.choices[0].finish_reason == "content_filter"
    frames = [
        event_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Sorry."}}),
        event_frame("messageStop", {"stopReason": "guardrail_intervened"}),
        event_frame("metadata", {"usage": COUNTS, "trace": trace}),
    ]
    ends = [chunk for chunk in ROW.chunks(frames) if any(it.finish_reason for it in chunk.choices)]
    assert [chunk.extra for chunk in ends] == [{"trace": trace}]


# Requests.

TOOL = {"type": "function", "function": {"name": "f"}}
GROUNDING = {"systemTool": {"name": "nova_grounding"}}


@pytest.mark.parametrize("model", [NOVA, "us.amazon.nova-premier-v1:0"])
def test_nova_searches_the_web_beside_the_callers_tools(model: str) -> None:
    alone = sent(model, web_search_options={"search_context_size": "medium"})
    assert alone["toolConfig"] == {"tools": [GROUNDING]}
    beside = sent(model, web_search_options={}, tools=[TOOL], tool_choice="required")
    assert [list(it) for it in beside["toolConfig"]["tools"]] == [["toolSpec"], ["systemTool"]]
    assert beside["toolConfig"]["toolChoice"] == {"any": {}}
    none = sent(model, web_search_options={}, tools=[TOOL], tool_choice="none")
    assert none["toolConfig"] == {"tools": [GROUNDING]}


def test_what_cannot_be_searched_is_refused_by_name() -> None:
    place: dict[str, Any] = {"type": "approximate", "approximate": {"city": "Rome"}}
    path = ROW.refused(NOVA, web_search_options={"user_location": place})
    assert path == "web_search_options.user_location"
    assert ROW.refused(BUDGETS, web_search_options={}) == "web_search_options"
    assert LAX.encoded(BUDGETS, web_search_options={}).dropped == ("web_search_options",)
