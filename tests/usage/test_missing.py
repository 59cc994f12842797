"""Missing requests, as one process tells them to others."""

from app.usage.missing import Missing, count_missing, decode_missing, encode_missing

FOUND = (
    Missing("web-1", 3, 5, 1_000, 2_000, 9_000),
    Missing("web-2", 7, 7, 1_000, 1_000, 9_500),
)


def test_what_is_missing_is_read_as_it_was_written_and_counted() -> None:
    assert decode_missing(encode_missing(FOUND)) == FOUND
    assert decode_missing(None) == ()
    assert count_missing(FOUND) == 4
