"""The worker, as a process: what it serves, what it logs, and how it shuts down."""

import contextlib
import os
import signal
import socket
import struct
import time
from pathlib import Path

import pytest

from app.server.worker import ABORT_S, KILL_S
from app.settings import Settings
from app.usage.redis.refusal_counts import RefusalCounts
from tests.fuzz.wire import connect, exchange, read_answer, request
from tests.server.conftest import Web, runs, serving_probe
from tests.server.probe import LARGE
from tests.support.gateway import gunicorn, with_account
from tests.support.measured import measured
from tests.support.services.polling import wait_until
from tests.support.vendor import SimulatedVendor, body_of, choice, stream_reply


def test_requests_on_one_connection_are_served_in_turn(shared: Web) -> None:
    with connect(shared.address) as sock:
        for body in (b"one", b"two"):
            sock.sendall(request("/body", body=body))
            assert read_answer(sock).body == body


def test_a_request_that_is_not_http_is_answered_and_its_text_is_not_logged(shared: Web) -> None:
    said = exchange(shared.address, [b"GET / HTTP/1.1\r\nx-api-key\1: tg_distinctive\r\n\r\n"])
    assert said.status == 400
    assert b"invalid_http" in said.body
    log = shared.log.read_text()
    assert "A request was not valid HTTP: InvalidHeaderName" in log
    assert "tg_distinctive" not in log


def test_an_error_of_the_application_is_logged_and_answered(shared: Web) -> None:
    assert shared.get("/error").status == 500
    assert "the application failed" in shared.log.read_text()


def test_a_header_of_the_application_that_is_not_valid_is_its_error(shared: Web) -> None:
    assert shared.get("/header").status == 500
    assert "InvalidResponseHeader" not in shared.get("/header").body.decode()


def test_a_client_that_disconnects_is_not_an_error(shared: Web) -> None:
    before = shared.log.read_text()
    with shared.open("/large") as sock:
        sock.recv(1000)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert shared.get("/readyz").status == 200
    assert shared.log.read_text() == before


def test_a_client_that_reads_nothing_does_not_fill_the_memory(shared: Web) -> None:
    status = Path(f"/proc/{shared.worker}/status")

    def peak_kib() -> int:
        return int(status.read_text().partition("VmHWM:")[2].split()[0])

    before = peak_kib()
    with shared.open("/large") as sock:
        assert shared.get("/readyz").status == 200
        received = 0
        while received < LARGE:
            received += len(sock.recv(1 << 20))
    assert peak_kib() - before < LARGE / 1024 / 2


def test_on_sigterm_requests_are_aborted_when_the_grace_time_is_over(web: Web) -> None:
    with web.open("/long") as sock:
        assert sock.recv(1000)
        started_s = time.monotonic()
        log = web.shut_down()
        assert ABORT_S <= time.monotonic() - started_s < ABORT_S + KILL_S + 30
        assert read_answer(sock).ended in ("closed", "reset")
    assert "Aborting 1 connections" in log
    assert "Traceback" not in log


def test_sigquit_does_not_wait_for_the_grace_time(tmp_path: Path) -> None:
    with serving_probe(tmp_path / "web.log", TOLLGATE_GRACE_S="3600") as web:
        assert web.get("/readyz").status == 200
        with connect(web.address):  # idle
            assert "Traceback" not in web.shut_down(signal.SIGQUIT)


def test_a_worker_without_its_arbiter_shuts_down(web: Web) -> None:
    os.kill(web.master, signal.SIGKILL)
    assert "The arbiter has exited; shutting down" in web.ended()
    with pytest.raises(ConnectionRefusedError):
        connect(web.address)


def test_several_workers_serve_and_shut_down_together(tmp_path: Path) -> None:
    with serving_probe(tmp_path / "web.log", WEB_CONCURRENCY="2") as web:
        children = Path(f"/proc/{web.master}/task/{web.master}/children")
        wait_until(lambda: len(children.read_text().split()) == 2)
        workers = [int(pid) for pid in children.read_text().split()]
        for _ in range(20):
            assert web.get("/readyz").status == 200
        web.shut_down()
        wait_until(lambda: not any(runs(pid) for pid in workers))


def env_of(settings: Settings) -> dict[str, str]:
    """The environment of a web process without grace time."""
    return {
        "REDIS_URL": settings.redis_url,
        "DATABASE_URL": settings.database_url,
        "TOLLGATE_VENDORS": str(settings.vendors_file),
        "TOLLGATE_SPOOL_DIR": str(settings.spool_dir),
        "TOLLGATE_GRACE_S": "0",
        "SIM_API_KEY": "sk-simulated-secret",
        **measured(),
    }


def test_refused_requests_are_counted_even_if_it_shuts_down_at_once(
    settings: Settings, tmp_path: Path
) -> None:
    with gunicorn(env_of(settings), tmp_path / "web.log") as (url, master):
        host, _, port = url.removeprefix("http://").removesuffix("/v5").partition(":")
        with with_account(url, settings) as gateway:
            assert exchange((host, int(port)), [b"no HTTP at all\r\n\r\n"]).status == 400
            assert gateway.post(b"{").status_code == 400
            os.kill(master, signal.SIGTERM)
            wait_until(lambda: not runs(master))
            batch = RefusalCounts(gateway.redis).take("batch")
    assert batch is not None
    found = sorted((it.endpoint, it.reason, it.account_id) for it in batch.counts)
    assert found == [("", "invalid_http", ""), ("completions", "invalid_json", "acme")]


def test_tollgates_calls_are_aborted_and_recorded_when_it_shuts_down(
    settings: Settings, tmp_path: Path, vendor: SimulatedVendor
) -> None:
    env, log = env_of(settings), tmp_path / "web.log"
    vendor.reply(stream_reply(body_of(choice("three little words")), 3600.0))
    with gunicorn(env, log) as (url, master), with_account(url, settings) as gateway:
        response = gateway.post({"model": "sim/m", "prompt": "one", "stream": True}, stream=True)
        pieces = response.iter_content(None)
        raw = next(pieces)
        os.kill(master, signal.SIGTERM)
        with contextlib.suppress(OSError):
            for piece in pieces:
                raw += piece
        wait_until(lambda: not runs(master))
        recorded = gateway.event()
    assert b"shutting_down" in raw
    assert (recorded.status, recorded.source) == ("truncated", "estimated")
    assert "Traceback" not in log.read_text()
