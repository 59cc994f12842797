"""Missing requests, as one process tells them to others."""

from app.usage.missing import Missing, Search, count_missing, decode_search, encode_search

FOUND = (
    Missing("web-1", 3, 5, 1_000, 2_000, 9_000),
    Missing("web-2", 7, 7, 1_000, 1_000, 9_500),
)


def test_what_is_missing_is_read_as_it_was_written_and_counted() -> None:
    for search in (Search(5, FOUND), Search(5)):
        assert decode_search(encode_search(search)) == search
    assert decode_search(None) is None
    assert count_missing(FOUND) == 4
