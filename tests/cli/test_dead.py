"""`tollgate dead`."""

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner
from redis import Redis
from sqlalchemy import Engine

from app.cli import main
from app.cli.commands.dead import SHOWN
from app.ledger.posting import Ledger
from app.ledger.process_numbers import read_processes
from app.storage.redis.keys import DEAD, EVENTS
from app.storage.sql.engine import create_engine
from app.usage.redis.stream import EventStream
from tests.cli.command import Tollgate
from tests.support.events import usage_event
from workers.consumer import consume


@pytest.fixture
def engine(sqlite_url: str) -> Iterator[Engine]:
    """The ledger's database."""
    engine = create_engine(sqlite_url)
    yield engine
    engine.dispose()


@pytest.fixture
def tollgate(sqlite_url: str, redis_url: str, engine: Engine) -> Tollgate:
    """The command line, with a Redis."""
    return Tollgate(sqlite_url, engine, {"REDIS_URL": redis_url})


def dead_letter(redis: "Redis", *raws: bytes, reason: str = "not JSON") -> list[str]:
    added: Any = [redis.xadd(DEAD, {"event": raw, "reason": reason}) for raw in raws]
    return [entry_id.decode() for entry_id in added]


def listed(tollgate: Tollgate) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(tollgate.run("dead", "list", "--json").stdout)
    return entries


def test_nothing_dead_is_said_and_is_an_empty_array(tollgate: Tollgate) -> None:
    result = tollgate.run("dead", "list")
    assert (result.stdout, result.stderr) == ("", "No dead-lettered events.\n")
    assert listed(tollgate) == []


def test_the_table_tells_whose_each_event_is_and_why_it_is_there(
    tollgate: Tollgate, redis: "Redis"
) -> None:
    event = usage_event(account_id="acme", vendor="openai", model="m").encode()
    odd = b'{"model": "m\\u001b[2J", "account_id": 5}'
    first, second, third = dead_letter(redis, event, b"\xff", odd)
    result = tollgate.run("dead", "list")
    headings, *rows = result.stdout.splitlines()
    assert headings.split() == ["id", "dead-lettered", "account", "model", "bytes", "reason"]
    buried = [row.split()[1] for row in rows]
    assert [row.split() for row in rows] == [
        [first, buried[0], "acme", "openai/m", str(len(event)), "not", "JSON"],
        [second, buried[1], "-", "-", "1", "not", "JSON"],
        [third, buried[2], "-", "m\N{REPLACEMENT CHARACTER}[2J", str(len(odd)), "not", "JSON"],
    ]
    assert "tollgate dead retry" in result.stderr


def test_json_has_each_event_whole(tollgate: Tollgate, redis: "Redis") -> None:
    event = usage_event()
    first, second = dead_letter(redis, event.encode(), b"\xff\0")
    assert listed(tollgate) == [
        {
            "id": first,
            "dead_lettered_at_ms": int(first.partition("-")[0]),
            "reason": "not JSON",
            "event": json.loads(event.encode()),
            "raw_base64": None,
        },
        {
            "id": second,
            "dead_lettered_at_ms": int(second.partition("-")[0]),
            "reason": "not JSON",
            "event": None,
            "raw_base64": base64.b64encode(b"\xff\0").decode(),
        },
    ]


def test_a_long_table_is_cut_and_says_so_and_the_array_is_not(
    tollgate: Tollgate, redis: "Redis"
) -> None:
    dead_letter(redis, *(b"%d" % number for number in range(SHOWN + 7)))
    result = tollgate.run("dead", "list")
    assert len(result.stdout.splitlines()) == 1 + SHOWN
    assert "7 more" in result.stderr
    assert len(listed(tollgate)) == SHOWN + 7


def test_a_retried_event_is_posted_by_the_worker_and_a_bad_one_comes_back(
    tollgate: Tollgate, redis: "Redis", engine: Engine
) -> None:
    event = usage_event()
    dead_letter(redis, event.encode(), b"nonsense", reason="the ledger refuses it")
    result = tollgate.run("dead", "retry", "--all")
    assert (result.stdout, redis.xlen(DEAD)) == ("", 0)
    assert "2 events moved back" in result.stderr
    report = consume(EventStream(redis), Ledger(engine), consumer="c")
    assert (report.posted, report.dead_lettered) == (1, 1)
    assert [entry["reason"] for entry in listed(tollgate)] == ["not JSON"]


def test_what_a_worker_buried_for_a_word_it_did_not_know_is_cured(
    tollgate: Tollgate, redis: "Redis", engine: Engine
) -> None:
    written = json.loads(usage_event(event_id="e1").encode())
    before = {k: v for k, v in written.items() if not k.endswith("n_source") and k != "calls"}
    later = written | {"event_id": "e2", "status": "paused", "prompt_source": "sampled"}
    raws = [json.dumps(fields).encode() for fields in (before, later)]
    dead_letter(redis, *raws, reason="status is of a wrong type or out of range")
    tollgate.run("dead", "retry", "--all")
    report = consume(EventStream(redis), Ledger(engine), consumer="c")
    assert (report.posted, report.dead_lettered, redis.xlen(DEAD)) == (2, 0, 0)
    usage = json.loads(tollgate.run("usage", "--since", "2026-01-01", "--format", "json").stdout)
    assert usage["total"]["total_tokens"] == 10


def test_one_event_of_several_is_retried_or_dropped(tollgate: Tollgate, redis: "Redis") -> None:
    first, second, third = dead_letter(redis, b"1", b"2", b"3")
    assert "1 event moved back" in tollgate.run("dead", "retry", second).stderr
    assert "1 event dropped" in tollgate.run("dead", "drop", third, third).stderr
    assert [entry["id"] for entry in listed(tollgate)] == [first]
    assert redis.xlen(EVENTS) == 1


@pytest.mark.parametrize("verb", ["retry", "drop"])
def test_an_id_that_is_not_there_is_an_error_and_the_others_are_done(
    tollgate: Tollgate, redis: "Redis", verb: str
) -> None:
    (first,) = dead_letter(redis, b"1")
    result = tollgate.run("dead", verb, "1-0", first, "2-0", exit_code=1)
    assert "2 of the IDs do not exist" in result.stderr
    assert listed(tollgate) == []


@pytest.mark.parametrize("verb", ["retry", "drop"])
@pytest.mark.parametrize("arguments", [(), ("1-0", "--all"), ("1",), ("+",), ("1-x",)])
def test_what_makes_no_sense_changes_nothing(
    tollgate: Tollgate, redis: "Redis", verb: str, arguments: tuple[str, ...]
) -> None:
    dead_letter(redis, b"1")
    assert "tollgate dead list" in tollgate.run("dead", verb, *arguments, exit_code=2).stderr
    assert redis.xlen(DEAD) == 1


def test_all_are_dropped_only_after_a_yes(tollgate: Tollgate, redis: "Redis") -> None:
    dead_letter(redis, b"1", b"2")
    result = tollgate.run("dead", "drop", "--all", exit_code=1, stdin="n\n")
    assert "Delete 2 events permanently?" in result.stderr
    assert redis.xlen(DEAD) == 2
    tollgate.run("dead", "drop", "--all", exit_code=1)  # a script's empty stdin is no yes
    assert redis.xlen(DEAD) == 2
    assert "2 events dropped" in tollgate.run("dead", "drop", "--all", stdin="y\n").stderr
    dead_letter(redis, b"3")
    assert "1 event dropped" in tollgate.run("dead", "drop", "--all", "--yes").stderr
    assert redis.xlen(DEAD) == 0


@pytest.mark.parametrize(
    "command",
    [("dead", "list"), ("dead", "retry", "--all"), ("reconcile",), ("dead", "drop", "1-0")],
)
def test_without_redis_a_sentence_says_what_to_look_at(command: tuple[str, ...]) -> None:
    down = {"REDIS_URL": "redis://:hunter2@127.0.0.1:1/0"}
    result = CliRunner().invoke(main, command, env=down)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Check REDIS_URL" in result.stderr
    assert "hunter2" not in result.stderr
    unset = CliRunner().invoke(main, command, env={"REDIS_URL": ""})
    assert (unset.exit_code, unset.stdout) == (1, "")
    assert "REDIS_URL is not set" in unset.stderr


def test_nothing_is_dropped_without_a_question(tollgate: Tollgate) -> None:
    assert tollgate.run("dead", "drop", "--all").stderr == "0 events dropped.\n"


def test_what_is_dropped_is_not_missing(tollgate: Tollgate, redis: "Redis", engine: Engine) -> None:
    """Else a web process would send it again."""
    now_ms = time.time_ns() // 1_000_000
    posted, dropped, kept = (
        usage_event(process="web-1", number=number, started_at_ms=now_ms) for number in (1, 2, 3)
    )
    Ledger(engine).post([posted])
    first, _ = dead_letter(redis, dropped.encode(), kept.encode())
    tollgate.run("dead", "drop", first)
    (row,) = read_processes(engine)
    assert (row.written_off, [(it.first, it.last) for it in row.posted]) == (1, [(1, 2)])
