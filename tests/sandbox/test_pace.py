"""Failures that are asked for, and frames."""

import pytest

from app.sandbox.errors import SandboxError
from app.sandbox.knobs import Knobs
from app.sandbox.pace import aborted, begin, frame, whole


def test_a_status_that_was_asked_for_fails_with_its_header() -> None:
    begin(Knobs(), b"")
    for _ in range(2):
        with pytest.raises(SandboxError) as caught:
            begin(Knobs(status=429, retry_after=3), b"")
        assert (caught.value.status, caught.value.headers) == (429, {"retry-after": "3"})


@pytest.mark.parametrize("status", [None, 429])
def test_only_the_first_tries_of_a_request_fail(status: int | None) -> None:
    knobs, body = Knobs(fail_first=2, status=status), f"{status}".encode()
    for _ in range(2):
        with pytest.raises(SandboxError, match="fail 2 times") as caught:
            begin(knobs, body)
        assert (caught.value.status, caught.value.headers) == (status or 503, {})
    begin(knobs, body)


def test_a_frame_is_an_event() -> None:
    assert frame({"a": 1}) == b'data: {"a": 1}\n\n'


def test_a_whole_response_that_is_to_be_cut_is_half_of_what_it_promises() -> None:
    assert whole(Knobs(), {"a": 1}, 0, 3).get_data() == b'{"a": 1}'
    assert whole(Knobs(cut_after=4), {"a": 1}, 0, 3).get_data() == b'{"a": 1}'
    cut = whole(Knobs(cut_after=3), {"a": 1}, 0, 3)
    assert cut.content_length == 8
    parts = iter(cut.response)
    assert next(parts) == b'{"a"'
    with pytest.raises(ConnectionResetError):
        next(parts)


def test_what_is_aborted_at_once_sends_nothing() -> None:
    with pytest.raises(ConnectionResetError):
        next(aborted())
