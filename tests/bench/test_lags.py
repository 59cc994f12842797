"""Lags and losses, from what a socket gave."""

from bench.lags import Piece, hear

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
DONE = b"data: [DONE]\n\n"


def part(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def frame(number: int, sent_ns: int) -> bytes:
    return b'data: {"text": "#%d@%d;"}\n\n' % (number, sent_ns)


WHOLE = HEAD + part(frame(0, 1_000_000) + frame(1, 2_000_000)) + part(DONE) + part(b"")


def cut(raw: bytes, at: int) -> list[Piece]:
    return [(5_000_000, raw[:at]), (9_000_000, raw[at:])]


def test_wherever_it_is_cut_a_chunk_has_arrived_with_its_last_byte() -> None:
    ends = [
        WHOLE.index(b"@%d;" % sent_ns) + len(b"@1000000;") for sent_ns in (1_000_000, 2_000_000)
    ]
    for at in range(len(WHOLE) + 1):
        heard = hear(cut(WHOLE, at))
        arrived_ms = [5.0 if end <= at else 9.0 for end in ends]
        assert heard.lags_ms == [arrived_ms[0] - 1, arrived_ms[1] - 2]
        assert (heard.numbers, heard.ended, heard.lost(2)) == ([0, 1], True, 0)


def test_a_gateway_may_cut_its_parts_anywhere() -> None:
    frames = frame(0, 1_000_000) + DONE
    for at in range(1, len(frames)):
        raw = HEAD + part(frames[:at]) + part(frames[at:]) + part(b"")
        heard = hear([(2_000_000, raw)])
        assert (heard.numbers, heard.lags_ms, heard.ended) == ([0], [1.0], True)


def test_a_stream_that_breaks_off_anywhere_has_not_ended() -> None:
    assert not any(hear([(1, WHOLE[:end])]).ended for end in range(len(WHOLE)))


def test_a_body_that_ends_without_the_terminator_has_not_ended() -> None:
    assert not hear([(1, HEAD + part(frame(0, 1)) + part(b""))]).ended


def test_missing_swapped_and_doubled_chunks_are_lost() -> None:
    def lost(*numbers: int) -> int:
        raw = HEAD + b"".join(part(frame(number, 1)) for number in numbers)
        return hear([(2, raw)]).lost(3)

    assert lost(0, 1, 2) == 0
    assert lost(0, 1) == 1
    assert lost(1, 0, 2) == 2
    assert lost(0, 0, 1, 2) > 0
    assert lost() == 3


def test_an_error_is_a_status_and_no_stream() -> None:
    heard = hear([(1, b"HTTP/1.1 503 No\r\ncontent-length: 2\r\n\r\n{}")])
    assert (heard.status, heard.ended, heard.numbers) == (503, False, [])


def test_silence_is_no_answer() -> None:
    assert hear([]).status == 0
