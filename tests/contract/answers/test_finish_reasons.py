"""Each choice has one finish reason of the contract's, at its end."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.answers.parts import Part
from tests.contract.answers.reason_parts import COUNTS
from tests.contract.answers.site import BY_VENDOR, TEXT, Site, books, by_index, serving
from tests.contract.answers.wires import MARKED, WIRES, WORDY
from tests.support.services.valkey import Valkey

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@pytest.mark.parametrize("name", MARKED)
def test_an_end_mark_without_any_reason_is_a_stop(site: Site, name: str) -> None:
    wire, usage = WIRES[name], WIRES[name].usage(COUNTS)
    site.says(
        wire.stream(wire.opening(usage), wire.event(Part(TEXT)), wire.event(usage=usage), wire.mark)
    )
    told = site.ask(wire, stream=True)
    assert told.is_whole(), told
    assert (told.texts, told.reasons, told.counts) == ({0: TEXT}, {0: ["stop"]}, (20, 7))
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)


@pytest.mark.parametrize("reason", [None, ""])
@pytest.mark.parametrize("name", ["cohere", "converse"])
def test_an_end_without_a_word_is_a_stop(site: Site, name: str, reason: Any) -> None:
    wire, usage = WIRES[name], WIRES[name].usage(COUNTS)
    site.says(
        wire.stream(
            wire.opening(), wire.event(Part(TEXT)), wire.event(Part("", reason), usage=usage)
        )
    )
    told = site.ask(wire, stream=True)
    assert told.is_whole(), told
    assert (told.texts, told.reasons) == ({0: TEXT}, {0: ["stop"]})
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)


@pytest.mark.parametrize("name", ["text", "chat", "launch"])
def test_at_the_end_mark_every_choice_has_a_reason(site: Site, name: str) -> None:
    wire = WIRES[name]
    parts = [Part("a", "length", 0), Part("b", None, 1), Part("c", "stop", 2)]
    site.says(wire.stream(wire.event(*parts), wire.event(usage=wire.usage(COUNTS)), wire.mark))
    told = site.ask(wire, stream=True, n=3)
    assert told.is_whole(), told
    assert by_index(told.texts) == ["a", "b", "c"]
    assert by_index(told.reasons) == [["length"], ["stop"], ["stop"]]
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)


def test_an_end_mark_alone_is_no_answer(site: Site) -> None:
    site.always(lambda _: WIRES["text"].stream(WIRES["text"].mark))
    told = site.ask("text/m", stream=True)
    assert told.status == 502
    assert site.event().status == "failed"


@BOTH
@pytest.mark.parametrize("name", ["text", "chat", "gemini", "launch"])
def test_one_odd_choice_does_not_discard_its_siblings(site: Site, name: str, stream: bool) -> None:
    wire, usage = WIRES[name], WIRES[name].usage(COUNTS)
    parts = [Part("a", wire.stop, 0), Part("b", "gremlins", 1), Part("c", wire.stop, 2)]
    streamed = wire.stream(
        *(wire.event(part) for part in parts), wire.event(usage=usage), wire.mark
    )
    site.says(streamed if stream else wire.whole(*parts, usage=usage))
    told = site.ask(wire, stream=stream, n=3)
    assert told.is_whole(), told
    assert by_index(told.texts) == ["a", "b", "c"]
    assert by_index(told.reasons) == [["stop"], ["length"], ["stop"]]
    natives = {
        c["index"]: c.get("native_finish_reason") for c in told.choices if c["finish_reason"]
    }
    assert natives == {0: None, 1: "gremlins", 2: None}
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)


@pytest.mark.parametrize("name", ["text", "chat", "launch"])
def test_a_sibling_that_failed_ends_a_stream_after_the_others_texts(site: Site, name: str) -> None:
    wire = WIRES[name]
    events = [
        wire.event(Part("bad", "error", 0)),
        wire.event(Part("good", None, 1)),
        wire.event(Part(" enough", "stop", 1)),
        wire.event(usage=wire.usage(COUNTS)),
    ]
    site.says(wire.stream(*events, wire.mark))
    told = site.ask(wire, stream=True, n=2)
    assert told.texts[1] == "good enough"
    assert told.reasons == {1: ["stop"]}
    assert told.error is not None
    assert told.cut
    assert books(site.event()) == ("truncated", 20, 7, *BY_VENDOR)


@BOTH
@pytest.mark.parametrize("name", WORDY)
def test_a_word_that_nobody_knows_is_counted_and_logged(
    site: Site, name: str, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    wire, usage = WIRES[name], WIRES[name].usage(COUNTS)
    word = f"hiccup_{name.replace('-', '_')}_{stream}"
    part, vendor = Part(TEXT, word), wire.model.partition("/")[0]
    whole = wire.whole(part, usage=usage)
    with caplog.at_level(logging.INFO):
        streamed = wire.stream(wire.opening(usage), wire.event(part, usage=usage), wire.mark)
        site.says(streamed if stream else whole)
        assert site.ask(wire, stream=stream).is_whole()
        site.event()
    counted = "tollgate_unknown_finish_reasons_total"
    assert site.metric(counted, vendor=vendor, reason=word) == 1
    assert [r for r in caplog.records if r.name.startswith("app") and word in r.getMessage()]


@BOTH
def test_callers_cannot_fill_the_metrics_with_a_vendors_nonsense(site: Site, stream: bool) -> None:
    wire, usage = WIRES["text"], WIRES["text"].usage(COUNTS)
    word = 'x"\n\\' + "y" * 5000
    part = Part(TEXT, word)
    streamed = wire.stream(wire.event(part, usage=usage), wire.mark)
    site.says(streamed if stream else wire.whole(part, usage=usage))
    told = site.ask(wire, stream=stream)
    assert (told.texts, told.reasons) == ({0: TEXT}, {0: ["length"]})
    assert len(told.choices[-1]["native_finish_reason"]) <= 1000
    assert site.gateway.get("/../metrics").status_code == 200
    assert "y" * 1000 not in site.gateway.get("/../metrics").text


# Words that an entry of the vendor table teaches.

TAUGHT = """
[vendors.taught]
gateway = "openai"
base_url = "URL"
retries = 0
finish_reasons = {eos_reached = "stop", hit_cap = "length", nsfw = "content_filter", oom = "error"}

[vendors.taught_chat]
gateway = "openai"
base_url = "URL"
retries = 0
native = []
finish_reasons = {eos_reached = "stop", hit_cap = "length", nsfw = "content_filter", oom = "error"}

[vendors.anthropic]
finish_reasons = {eos_reached = "stop", stop_sequence = "length"}
"""


@pytest.fixture(scope="module")
def taught_site(tmp_path_factory: pytest.TempPathFactory, valkey: Valkey) -> Iterator[Site]:
    """A gateway whose vendor entry has its own `finish_reasons`."""
    text = TAUGHT.partition("[vendors.anthropic]")[0]
    with serving(tmp_path_factory.mktemp("taught"), valkey.url, text) as site:
        yield site


@BOTH
@pytest.mark.parametrize("entry", ["taught", "taught_chat"])
@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("eos_reached", "stop"),
        ("hit_cap", "length"),
        ("nsfw", "content_filter"),
        ("stop", "stop"),
        ("oom", None),
    ],
)
def test_an_entry_teaches_words(
    taught_site: Site, entry: str, word: str, reason: str | None, stream: bool
) -> None:
    site, wire = taught_site, WIRES["text" if entry == "taught" else "chat"]
    site.clear()
    part, usage = Part(TEXT, word), wire.usage(COUNTS)
    streamed = wire.stream(wire.event(part), wire.event(usage=usage), wire.mark)
    site.says(streamed if stream else wire.whole(part, usage=usage))
    told = site.ask(f"{entry}/m", stream=stream)
    if reason is None:
        assert told.error is not None
        assert books(site.event())[1:] == (20, 7, *BY_VENDOR)
        return
    assert told.is_whole(), told
    assert told.reasons == {0: [reason]}
    assert "native_finish_reason" not in told.choices[-1]
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)
    assert site.metric("tollgate_unknown_finish_reasons_total", vendor=entry, reason=word) == 0
