"""Cases: every deviation can be chosen, every format applies it, and a seed repeats it."""

import json
import re
from urllib.parse import urlsplit

import pytest

from tests.contract.wild.case import Case
from tests.contract.wild.deal import deal, fits, plain, vendor_requests
from tests.contract.wild.deviations import Deviation
from tests.contract.wild.deviations.table import DEVIATIONS
from tests.contract.wild.wires.rows import SPEAKERS
from tests.contract.wild.wires.sse import read_back
from tests.support.vendor import Asked, Reply
from tests.support.vendors.base import Said


def _asked(case: Case) -> list[Asked]:
    """Return the vendor calls of a case, as they would arrive."""
    found = []
    for request in vendor_requests(case):
        url = urlsplit(request.url)
        path = url.path + (f"?{url.query}" if url.query else "")
        body = json.loads(request.body)
        found.append(Asked(path, dict(request.headers), body, 0, request.body))
    return found


def _answers(case: Case) -> list[Reply]:
    return [case.say(asked) for asked in _asked(case)]


def _content(reply: Reply) -> bytes:
    return b"".join(step for step in reply.body if isinstance(step, bytes))


#: What these say beside the answer itself is dealt as deviations: verdicts, and blank lines.
TALKATIVE = ("azure", "deepseek", "deepseek:fim")


@pytest.mark.parametrize("row", sorted({*SPEAKERS} - {*TALKATIVE}))
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_without_deviations_is_the_simulated_vendors(row: str, stream: bool) -> None:
    case = plain(1, row)
    case.n, case.prompts, case.stream, case.logprobs = 1, ["A"], stream, False
    case.parts = 1
    (asked,) = _asked(case)
    spoken = case.say(asked)
    (truth,) = case.calls
    said = Said(
        truth.samples[0].text,
        truth.samples[0].finish,  # type: ignore[arg-type]
        truth.told.prompt or 0,
        truth.told.completion or 0,
        truth.told.cached,
    )
    assert _parsed(spoken) == _parsed(case.wire.answer(asked, said))


def _parsed(reply: Reply) -> object:
    content = _content(reply)
    if content.startswith((b"data:", b"event:")):
        return read_back(Reply([content.replace(b"data: [DONE]\n\n", b"")]))
    return json.loads(content) if content.startswith(b"{") else content


def test_names_are_unique() -> None:
    names = [deviation.name for deviation in DEVIATIONS]
    assert len(names) == len(set(names))


def test_names_that_are_excluded_exist() -> None:
    known = {deviation.name for deviation in DEVIATIONS} | {d.kind for d in DEVIATIONS}
    assert {name for deviation in DEVIATIONS for name in deviation.excludes} <= known


@pytest.mark.parametrize("row", sorted(SPEAKERS))
def test_a_row_meets_deviations_of_many_kinds(row: str) -> None:
    kinds = {d.kind for seed in range(60) for d in deal(seed, row).deviations}
    assert kinds >= {"counts", "frames", "labels", "ends", "cuts", "texts"} - _foreign(row)


def _foreign(row: str) -> set[str]:
    """Return kinds that a wire has no deviations of."""
    return {"counts"} if row in ("bedrock:llama", "bedrock:titan") else set()


def test_a_seed_deals_the_same_again() -> None:
    for seed in range(50):
        one, other = deal(seed), deal(seed)
        assert str(one) == str(other)
        if one.parts == 1:
            assert [_content(r) for r in _answers(one)] == [_content(r) for r in _answers(other)]


@pytest.mark.parametrize("deviation", DEVIATIONS, ids=lambda deviation: deviation.name)
def test_a_deviation_changes_what_is_sent(deviation: Deviation) -> None:
    """For a request to every entry that it applies to, the response differs."""
    changed = 0
    for seed, row in enumerate(sorted(SPEAKERS)):
        case = deal(seed, row)
        case.deviations = ()
        if not fits(case, deviation):
            continue
        good = _answers(case)
        case.calls.clear()
        case.deviations = (deviation,)
        dealt = _answers(case)
        changed += [_seen(reply) for reply in good] != [_seen(reply) for reply in dealt]
    if not changed:
        _alone(deviation)


def _alone(deviation: Deviation) -> None:
    """The same, for a request that is made for it."""
    case = deal(1, only=f"^{re.escape(deviation.name)}$")
    dealt = _answers(case)
    case.deviations = ()
    case.calls.clear()
    assert [_seen(reply) for reply in _answers(case)] != [_seen(reply) for reply in dealt]


def _seen(reply: Reply) -> tuple[object, ...]:
    steps = [step for step in reply.body if not callable(step)]
    kinds = [step if isinstance(step, bytes) else type(step) for step in steps]
    return kinds, reply.status, dict(reply.headers), reply.framing, reply.packet
