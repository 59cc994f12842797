"""`tollgate reconcile --from-log`."""

import json
import logging
import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import orjson
import pytest
import sqlalchemy as sa

from app.cli.reconcile_log import SHOWN
from app.ledger.posting import Ledger
from app.observability.logs import JSONFormatter, TextFormatter
from app.storage.sql.tables import entries
from app.usage.recording.event_log import event_messages
from app.usage.recording.log_lines import LOGGER
from tests.cli.command import Tollgate
from tests.support.events import usage_event
from tests.usage.recording.test_event_log import long_event

JSON, TEXT = JSONFormatter(), TextFormatter()


def lines_of(encoded: bytes, formatter: logging.Formatter = JSON) -> list[str]:
    """The lines that a web process logs of an event."""
    event_id = orjson.loads(encoded)["event_id"]
    return [
        formatter.format(
            logging.getLogger(LOGGER).makeRecord(
                LOGGER, logging.ERROR, "x.py", 1, "%s", (message,), None
            )
        )
        for message in event_messages(event_id, encoded)
    ]


def log_of(path: Path, lines: Iterable[str]) -> str:
    log = path / "web.log"
    log.write_text("".join(f"{line}\n" for line in lines))
    return str(log)


def counts(stdout: str) -> dict[str, int]:
    _, *rows = stdout.splitlines()
    return {item.strip(): int(count) for item, _, count in (row.rpartition(" ") for row in rows)}


def stored(tollgate: Tollgate) -> set[str]:
    with tollgate.engine.connect() as connection:
        return set(connection.scalars(sa.select(entries.c.event_id)))


def test_events_are_posted_from_logs_of_both_forms_and_once(
    tollgate: Tollgate, tmp_path: Path
) -> None:
    events = [usage_event(), usage_event(user="Zoë\n"), long_event(), usage_event()]
    Ledger(tollgate.engine).post(events[3:])
    prefix = "2026-11-30T11:00:00+00:00 app[web.1]: "
    lines = ["starting", *(prefix + line for line in lines_of(events[0].encode()))]
    for event in events[1:]:
        lines += lines_of(event.encode(), TEXT)
    lines += lines_of(events[1].encode())  # the same line from another place
    log = log_of(tmp_path, lines)
    result = tollgate.run("reconcile", "--from-log", log)
    expected = {"events found": 5, "posted": 3, "known already": 2, "refused": 0, "not readable": 0}
    assert counts(result.stdout) == expected
    assert stored(tollgate) == {event.event_id for event in events}
    again = counts(tollgate.run("reconcile", "--from-log", log).stdout)
    assert (again["posted"], again["known already"]) == (0, 5)


def test_costs_are_those_that_a_worker_would_post(
    tollgate: Tollgate, tmp_path: Path, prices_file: Path
) -> None:
    event = usage_event(model="m", vendor="openai", prompt_tokens=1000, completion_tokens=0)
    command = Tollgate(
        tollgate.database_url, tollgate.engine, {"TOLLGATE_PRICES": str(prices_file)}
    )
    command.run("reconcile", "--from-log", log_of(tmp_path, lines_of(event.encode())))
    with tollgate.engine.connect() as connection:
        assert connection.scalar(sa.select(entries.c.cost_nanousd)) is not None


def test_an_event_of_the_version_before_is_posted(tollgate: Tollgate, tmp_path: Path) -> None:
    """It was logged in one line, however long, and lacks the last fields."""
    values = orjson.loads(usage_event().encode())
    for name in ("prompt_source", "completion_source", "service_tier"):
        values.pop(name)
    message = f"usage event not recorded yet: {orjson.dumps(values).decode()}"
    line = json.dumps({"level": "error", "logger": LOGGER, "message": message})
    result = tollgate.run("reconcile", "--from-log", log_of(tmp_path, [line]))
    assert counts(result.stdout)["posted"] == 1


def test_what_cannot_be_read_is_told_with_its_line_and_the_rest_is_posted(
    tollgate: Tollgate, tmp_path: Path
) -> None:
    event, cut = usage_event(), lines_of(usage_event().encode())[0]
    invalid = orjson.dumps({**orjson.loads(usage_event().encode()), "prompt_tokens": -1})
    lines = [
        "starting",
        cut[: len(cut) // 2],
        cut[len(cut) // 2 :],
        *lines_of(invalid),
        *lines_of(long_event().encode())[1:],
        *lines_of(event.encode(), TEXT),
    ]
    result = tollgate.run("reconcile", "--from-log", log_of(tmp_path, lines), exit_code=1)
    found = counts(result.stdout)
    assert (found["events found"], found["posted"], found["not readable"]) == (1, 1, 3)
    problems = [line for line in result.stderr.splitlines() if line.startswith("!")]
    assert problems == [
        "! Line 2: cut or damaged",
        "! Line 4: prompt_tokens is of a wrong type or out of range",
        "! Line 5: a part is missing",
    ]
    assert stored(tollgate) == {event.event_id}


def test_json_has_the_same_counts_and_lines(tollgate: Tollgate, tmp_path: Path) -> None:
    broken = [lines_of(usage_event().encode())[0][:-30]] * (SHOWN + 2)
    log = log_of(tmp_path, [*broken, *lines_of(usage_event().encode())])
    result = tollgate.run("reconcile", "--json", "--from-log", log, exit_code=1)
    read = json.loads(result.stdout)
    problems = read.pop("problems")
    assert read == {"found": 1, "posted": 1, "known": 0, "refused": 0, "unreadable": SHOWN + 2}
    assert problems[0] == {"line": 1, "reason": "cut or damaged"}
    assert len(problems) == SHOWN + 2
    assert "! and 2 more" in result.stderr


def test_a_log_comes_from_stdin_too(tollgate: Tollgate) -> None:
    line = "\n".join(lines_of(usage_event().encode()))
    result = tollgate.run("reconcile", "--from-log", "-", stdin=line)
    assert counts(result.stdout)["posted"] == 1


def test_a_log_without_events_is_no_problem(tollgate: Tollgate, tmp_path: Path) -> None:
    result = tollgate.run("reconcile", "--from-log", log_of(tmp_path, ["starting", "stopped"]))
    assert set(counts(result.stdout).values()) == {0}


@pytest.mark.parametrize("other", [["--rebuild"], ["--bill", "FILE"]])
def test_it_excludes_the_other_modes(tollgate: Tollgate, tmp_path: Path, other: list[str]) -> None:
    log = log_of(tmp_path, [])
    arguments = [log if it == "FILE" else it for it in other]
    result = tollgate.run("reconcile", "--from-log", log, *arguments, exit_code=2)
    assert "commands of their own" in result.stderr


def test_a_log_that_does_not_exist_is_a_wrong_argument(tollgate: Tollgate, tmp_path: Path) -> None:
    tollgate.run("reconcile", "--from-log", str(tmp_path / "none.log"), exit_code=2)


def test_a_ledger_that_is_down_is_told_and_the_command_can_be_run_again(
    tollgate: Tollgate, tmp_path: Path
) -> None:
    log = log_of(tmp_path, lines_of(usage_event().encode()))
    nowhere = Tollgate(f"sqlite:///{tmp_path / 'not-migrated.db'}", tollgate.engine)
    assert "DATABASE_URL" in nowhere.run("reconcile", "--from-log", log, exit_code=1).stderr
    assert counts(tollgate.run("reconcile", "--from-log", log).stdout)["posted"] == 1


def test_a_long_log_takes_no_more_memory_than_a_short_one(
    tollgate: Tollgate, tmp_path: Path
) -> None:
    """50 MB: 4,000 events among other lines, and one line of 20 MB."""
    log = tmp_path / "web.log"
    other = JSON.format(logging.makeLogRecord({"msg": "GET / 200", "name": "app.x"})) + "\n"
    encoded = [usage_event().encode() for _ in range(50)]
    events = "".join(f"{line}\n" for it in encoded for line in lines_of(it))
    with log.open("w") as file:
        for at in range(80):
            file.write(other * 3000)
            file.write(events)
            if at == 40:
                file.write("x" * 20_000_000 + "\n")
    assert log.stat().st_size > 45_000_000
    tollgate.run("reconcile", "--from-log", log_of(tmp_path.parent, []))  # everything is imported
    tracemalloc.start()
    result = tollgate.run("reconcile", "--from-log", str(log))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    found = counts(result.stdout)
    assert (found["events found"], found["posted"]) == (4_000, 50)
    assert peak < 15_000_000


def test_progress_is_shown_on_a_terminal_only(tollgate: Tollgate, tmp_path: Path) -> None:
    result = tollgate.run(
        "reconcile", "--from-log", log_of(tmp_path, lines_of(usage_event().encode()))
    )
    assert result.stdout.startswith("item")
    assert "Log" in result.stderr
