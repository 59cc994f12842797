"""The formats from which these tests build odd responses are correct without deviations."""

import pytest

from tests.contract.answers.parts import Counts, Part
from tests.contract.answers.site import BY_VENDOR, TEXT, Site, books, by_index
from tests.contract.answers.wires import SAMPLING, WIRES


@pytest.mark.parametrize("name", WIRES)
def test_a_whole_answer_is_told_and_booked(site: Site, name: str) -> None:
    wire = WIRES[name]
    site.says(wire.whole(Part(TEXT, wire.stop), usage=wire.usage(Counts(20, 7))))
    told = site.ask(wire)
    assert told.is_whole(), told
    assert (by_index(told.texts), by_index(told.reasons)) == ([TEXT], [["stop"]])
    assert told.counts == (20, 7)
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)


@pytest.mark.parametrize("name", WIRES)
def test_a_stream_is_told_and_booked(site: Site, name: str) -> None:
    wire, usage = WIRES[name], WIRES[name].usage(Counts(20, 7))
    words = [wire.event(Part("alpha")), wire.event(Part(" beta")), wire.event(Part(" gamma"))]
    end = wire.event(Part("", wire.stop), usage=usage)
    site.says(wire.stream(wire.opening(usage), *words, end, wire.mark))
    told = site.ask(wire, stream=True)
    assert told.is_whole(), told
    assert told.done
    assert (by_index(told.texts), by_index(told.reasons)) == ([TEXT], [["stop"]])
    assert told.counts == (20, 7)
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", SAMPLING)
def test_two_samples_are_told_and_booked(site: Site, name: str, stream: bool) -> None:
    wire, usage = WIRES[name], WIRES[name].usage(Counts(20, 14))
    parts = [Part("alpha", wire.stop, 0), Part("beta", wire.stop, 1)]
    streamed = wire.stream(wire.event(*parts, usage=usage), wire.mark)
    site.says(streamed if stream else wire.whole(*parts, usage=usage))
    told = site.ask(wire, stream=stream, n=2)
    assert told.is_whole(), told
    assert by_index(told.texts) == ["alpha", "beta"]
    assert told.counts == (20, 14)
    assert books(site.event()) == ("completed", 20, 14, *BY_VENDOR)
