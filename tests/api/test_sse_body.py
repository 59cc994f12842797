"""The frames of a streamed response, and how it ends."""

import json
from typing import Any, cast

import pytest

from app.api.schemas.completion import TextChunks
from app.api.sse_body import EventStreamBody
from app.formats.sse import DONE, KEEP_ALIVE
from app.serving.stream import CompletionStream
from app.vocabulary.completion import Choice, Completion, CompletionRequest, Usage
from app.vocabulary.errors import Cancelled, TollgateError, VendorFailed

USAGE = Usage(prompt_tokens=1, completion_tokens=2, total_tokens=3)


def chunk(text: str, usage: Usage | None = None) -> Completion:
    """Return a chunk with one choice."""
    return Completion("cmpl-1", 1, "m", (Choice(0, text, None, None),), usage)


class Script:
    """What a stream gives, one after the other; the last is None."""

    def __init__(self, *steps: list[Completion] | Exception | None) -> None:
        self._steps = list(steps)
        self.is_closed = False
        self.failure: BaseException | None = None
        self.usage_chunk = Completion("cmpl-1", 1, "m", (), USAGE)

    def take(self, _timeout_s: float) -> list[Completion] | None:
        """Return the next chunks."""
        step = self._steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    def model(self, reported: str) -> str:
        """Return the name that can be sent back."""
        return f"sim/{reported}"

    def failed(self, error: BaseException) -> None:
        """Note why the stream broke off."""
        self.failure = error

    def close(self) -> None:
        """Note it."""
        self.is_closed = True


def body_of(
    script: Script,
    first: list[Completion] | None,
    options: dict[str, Any] | None = None,
    failures: list[TollgateError] | None = None,
) -> EventStreamBody:
    """Return the body of a stream."""
    request = CompletionRequest(
        model="sim/m", prompt="p", stream=True, stream_options=options or {}
    )
    noted = failures if failures is not None else []

    def failed(error: TollgateError) -> bytes:
        noted.append(error)
        return json.dumps(error.body(request_id="req_1")).encode()

    stream = cast(CompletionStream, script)
    return EventStreamBody(stream, request, TextChunks(), first, keep_alive_s=1.0, failed=failed)


def until_aborted(body: EventStreamBody) -> list[bytes]:
    """Return the frames of a body that must end in an aborted connection."""
    frames: list[bytes] = []
    with pytest.raises(ConnectionResetError):
        frames.extend(body)
    return frames


def data(frame: bytes) -> list[dict[str, Any]]:
    """Return the JSON of a body's frames."""
    lines = frame.decode().split("\n\n")
    return [json.loads(line.removeprefix("data: ")) for line in lines if line]


def test_chunks_that_are_available_go_out_together_and_the_end_is_named() -> None:
    frames = list(body_of(Script([chunk("c")], None), [chunk("a"), chunk("b")]))
    assert [one["choices"][0]["text"] for one in data(frames[0])] == ["a", "b"]
    assert data(frames[1])[0]["choices"][0]["text"] == "c"
    assert frames[2:] == [DONE]


def test_silence_is_a_comment() -> None:
    assert list(body_of(Script([], None), []))[:2] == [KEEP_ALIVE, KEEP_ALIVE]


def test_usage_comes_in_a_last_chunk_if_it_is_asked_for() -> None:
    frames = list(body_of(Script(None), [chunk("a", USAGE)], {"include_usage": True}))
    assert data(frames[0])[0]["usage"] is None
    assert data(frames[1])[0]["usage"]["total_tokens"] == 3
    (plain, _) = list(body_of(Script(None), [chunk("a", USAGE)]))
    assert "usage" not in data(plain)[0]


def test_running_usage_comes_with_every_chunk() -> None:
    options = {"include_usage": True, "continuous_usage_stats": True}
    frames = list(body_of(Script(None), [chunk("a", USAGE)], options))
    assert data(frames[0])[0]["usage"]["total_tokens"] == 3


def test_a_chunk_that_cannot_be_written_is_an_error_event_and_no_disconnect() -> None:
    script = Script([chunk("whole"), chunk(cast(str, object()))], None)
    failures: list[TollgateError] = []
    frames = until_aborted(body_of(script, [chunk("half")], failures=failures))
    assert [frame.partition(b": ")[0] for frame in frames] == [b"data", b"event"]
    assert data(frames[1].partition(b"\n")[2])[0]["error"]["code"] == "internal_error"
    assert [it.code for it in failures] == ["internal_error"]
    assert isinstance(script.failure, TypeError)


@pytest.mark.parametrize("error", [VendorFailed("The vendor failed."), RuntimeError("bug")])
def test_a_failure_is_an_error_event_and_an_aborted_connection(error: Exception) -> None:
    failures: list[TollgateError] = []
    frames = until_aborted(body_of(Script(error), [chunk("half")], failures=failures))
    assert frames[-1].startswith(b"event: error\ndata: ")
    assert b"bug" not in frames[-1]
    assert len(failures) == 1


def test_a_cancelled_stream_is_aborted_without_a_word() -> None:
    frames = until_aborted(body_of(Script(Cancelled()), [chunk("half")]))
    assert len(frames) == 1


def test_closing_the_body_closes_the_stream() -> None:
    script = Script()
    body_of(script, None).close()
    assert script.is_closed
