"""Texts that are kept for an estimate: as they came, and long ones counted on the way."""

import pytest

from app.usage.metering import pieces as module
from app.usage.metering.estimate import SLICE_CHARS, count_tokens
from app.usage.metering.pieces import LOOK_CHARS, LOOK_PIECES, Pieces
from app.vocabulary.completion import Usage
from tests.usage.calls import chunk, metered

WORDS = "one two three four "


def kept(*texts: str) -> Pieces:
    pieces = Pieces()
    for text in texts:
        pieces.append(text)
        if not len(pieces) % LOOK_PIECES or len(text) > LOOK_CHARS:
            pieces.shorten()
    return pieces


def test_a_text_of_ordinary_length_is_kept_as_it_came() -> None:
    assert kept(*[WORDS] * 2000) == [WORDS] * 2000


@pytest.mark.parametrize("piece", [WORDS, WORDS * 2000])
def test_a_long_one_is_let_go_and_has_the_same_count(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PIECES_LIMIT", LOOK_PIECES)
    monkeypatch.setattr(module, "CHARS_LIMIT", 2 * LOOK_CHARS)
    count = LOOK_PIECES * 2 + 5 if piece == WORDS else 7
    pieces = kept(*[piece] * count)
    assert sum(map(len, pieces)) < SLICE_CHARS + 5 * len(WORDS)
    assert pieces.tokens() == count_tokens(piece * count)
    assert pieces.tokens_so_far() == pieces.tokens()
    before = pieces.tokens_so_far()
    pieces.append(WORDS)
    assert pieces.tokens_so_far() == before + count_tokens(WORDS)
    pieces.forget()
    assert (pieces.tokens(), pieces.tokens_so_far(), list(pieces)) == (0, 0, [])


def test_what_a_call_lets_go_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a report, and after a running one."""
    monkeypatch.setattr(module, "PIECES_LIMIT", 1)
    text, report = WORDS * 2000, Usage(prompt_tokens=2, completion_tokens=9, total_tokens=11)
    said = [chunk(text), chunk(text)]
    assert metered(*said).final.usage.completion_tokens == count_tokens(text * 2)
    call = metered(chunk("a", usage=report), *said)
    call.is_whole = False
    running = call.final
    assert running.usage.completion_tokens == 9 + count_tokens(text * 2)
