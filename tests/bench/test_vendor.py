"""The bench vendor, asked by the benchmark's clients and by a plain one."""

import asyncio
import dataclasses
import json
import socket

import pytest

from bench.knobs import UnknownModel, parse_model
from bench.rawload import Load, press
from bench.streams import StreamLoad, run
from bench.target import HOST, Target
from bench.vendor_wire import TEXT, plan


def test_paced_streams_arrive_whole_in_order_and_after_they_were_sent(vendor: Target) -> None:
    found = run(StreamLoad(vendor.port, vendor.request("paced-5x10"), 20, 1000, 5, limit_s=30))
    assert (found.complete, found.lost, found.chunks, found.statuses) == (20, 0, 100, {})
    assert 0 < found.lag_ms[0] <= found.lag_ms[-1] < found.wall_s * 1000
    assert found.wall_s >= 0.04  # the fifth chunk comes four intervals after the first


def test_streams_of_chat_arrive_whole_too(vendor: Target) -> None:
    request = vendor.chat.request("paced-5x10")
    assert '"messages"' in request
    found = run(StreamLoad(vendor.port, request, 20, 1000, 5, limit_s=30))
    assert (found.complete, found.lost, found.chunks, found.statuses) == (20, 0, 100, {})


def test_the_models_of_chat_may_have_another_prefix(vendor: Target) -> None:
    apart = dataclasses.replace(vendor, prefix="bench/", chat_prefix="chat/")
    models = [json.loads(it.body("whole"))["model"] for it in (apart, apart.chat, vendor.chat)]
    assert models == ["bench/whole", "chat/whole", "whole"]


def test_flat_streams_arrive_whole_though_they_are_longer_than_any_buffer(vendor: Target) -> None:
    found = run(StreamLoad(vendor.port, vendor.request("flat-50000"), 2, 1000, 50_000, limit_s=60))
    assert (found.complete, found.lost, found.chunks) == (2, 0, 100_000)


def test_streams_that_the_time_cuts_off_are_incomplete(vendor: Target) -> None:
    found = run(
        StreamLoad(vendor.port, vendor.request("paced-1000x50"), 3, 1000, 1000, limit_s=0.5)
    )
    assert found.complete == 0
    assert 0 < found.chunks < 3000
    assert found.lost == 3000 - found.chunks


def test_a_refused_stream_is_incomplete_and_its_status_told(vendor: Target) -> None:
    found = run(StreamLoad(vendor.port, vendor.request("no-such-model"), 2, 1000, 5, limit_s=30))
    assert (found.complete, found.lost, found.statuses) == (0, 10, {"404": 2})


def test_a_server_that_is_not_there_is_no_answer() -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
    found = run(StreamLoad(port, "POST / HTTP/1.1\r\n\r\n", 2, 1000, 1, limit_s=30))
    assert (found.complete, found.statuses) == (0, {"0": 2})


def test_a_stream_that_nobody_reads_holds_up_no_other(vendor: Target) -> None:
    with socket.create_connection((HOST, vendor.port)) as deaf:
        deaf.sendall(vendor.request("flat-1000000").encode())
        found = run(StreamLoad(vendor.port, vendor.request("paced-3x10"), 5, 1000, 3, limit_s=30))
    assert found.complete == 5


def test_a_request_may_come_byte_by_byte_and_the_next_right_behind_it(vendor: Target) -> None:
    request = vendor.request("whole").encode()
    with socket.create_connection((HOST, vendor.port)) as connection:
        for byte in request[:-1]:
            connection.send(bytes([byte]))
        connection.sendall(request[-1:] + request)
        answers = connection.makefile("rb")
        for _ in range(2):
            length = 0
            while (line := answers.readline()) != b"\r\n":
                if line.startswith(b"content-length:"):
                    length = int(line.split()[1])
            assert json.loads(answers.read(length))["choices"][0]["text"] == TEXT


def test_a_large_prompt_is_answered(vendor: Target) -> None:
    request = vendor.request("whole", "x" * 3_000_000)
    found = asyncio.run(press(Load(vendor.port, request, 1, 0.1)))
    assert found["requests"] > 0
    assert not found["refused"] + found["broken"]


def test_a_request_without_its_length_is_refused(vendor: Target) -> None:
    with socket.create_connection((HOST, vendor.port)) as connection:
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\n\r\n")
        assert connection.makefile("rb").read().startswith(b"HTTP/1.1 411")


def test_our_own_load_counts_what_is_refused(vendor: Target) -> None:
    elsewhere = dataclasses.replace(vendor, path="/v1/nothing")
    found = asyncio.run(press(Load(vendor.port, elsewhere.request("whole"), 4, 0.1)))
    assert found["refused"] == found["requests"] > 0


def test_chat_is_answered_in_its_own_form() -> None:
    body = b'{"model": "whole", "messages": []}'
    answer = json.loads(plan(b"/v1/chat/completions", body).head.partition(b"\r\n\r\n")[2])
    assert answer["choices"][0]["message"]["content"] == TEXT


def streamed(body: bytes, path: bytes = b"/v1/chat/completions") -> list[dict[str, object]]:
    """Return the chunks of a stream of 300."""
    chunked = plan(path, b'{"model": "flat-300", "stream": true%b}' % body).chunks(0, 300)
    frames = chunked.partition(b"\r\n")[2].removesuffix(b"\r\n")
    return [json.loads(it.removeprefix(b"data: ")) for it in frames.split(b"\n\n") if it]


def test_a_benchmarked_chat_is_asked_for_without_padding(vendor: Target) -> None:
    body = vendor.chat.body("flat-3").encode()
    assert not plan(b"/v1/chat/completions", body).afters
    assert plan(b"/v1/completions", vendor.body("flat-3").encode()).knobs.chunks == 3


def test_chunks_of_a_chat_have_a_random_text_beside_them_as_openais_do() -> None:
    padded = streamed(b"")
    assert len({str(chunk["obfuscation"]) for chunk in padded}) > 200
    assert all(chunk.keys() == padded[0].keys() for chunk in padded)
    asked = b', "stream_options": {"include_obfuscation": false}'
    for plain in (streamed(asked), streamed(b"", b"/v1/completions")):
        assert all("obfuscation" not in chunk for chunk in plain)


def test_usage_is_told_to_whoever_asks() -> None:
    body = b'{"model": "flat-7", "stream": true, "stream_options": {"include_usage": true}}'
    asked = plan(b"/v1/completions", body)
    assert b'"completion_tokens":7' in asked.end
    assert b'"usage":null' in asked.before
    assert b"usage" not in plan(b"/v1/completions", b'{"model": "flat-7", "stream": true}').end


def test_a_prompt_that_speaks_of_models_is_no_model() -> None:
    body = json.dumps({"prompt": '"model": "flat-3", "stream": true', "model": "whole"}).encode()
    assert plan(b"/v1/completions", body).head.startswith(b"HTTP/1.1 200")
    assert not plan(b"/v1/completions", body).knobs.chunks


def test_a_stream_must_be_asked_for() -> None:
    assert plan(b"/v1/completions", b'{"model": "flat-3"}').head.startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("model", ["", "flat", "flat-", "paced-3", "whole-2", "flat-3x4"])
def test_other_models_do_not_exist(model: str) -> None:
    with pytest.raises(UnknownModel):
        parse_model(model)
