"""`tollgate dead`: lists, retries and drops events of the dead-letter stream."""

import base64
import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import click
import orjson

from app.cli.actor import record_after
from app.cli.ledger import open_ledger
from app.cli.stream import open_redis
from app.cli.tables import Cell, format_table, on_terminal
from app.cli.times import show_time
from app.ledger.process_numbers import write_off
from app.storage.sql.audit import Change
from app.usage.messages.numbered import numbered
from app.usage.missing import Missing
from app.usage.redis.dead_letters import AT_ONCE, DeadLetter, DeadLetterStream

#: The most rows of the table; the JSON array has every entry.
SHOWN = 100


class EntryId(click.ParamType[str]):
    """The id of a stream entry in Redis."""

    name = "id"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not re.fullmatch(r"[0-9]{1,19}-[0-9]{1,19}", value):
            self.fail(f"{value!r} is not an ID. Copy it from `tollgate dead list`", param, ctx)
        return value


@click.group()
def dead() -> None:
    """List, retry and drop usage events that could not be posted to the ledger.

    The worker moves an event here, with the reason, if it cannot be decoded or the ledger rejects
    it. Usage reports do not include these events.
    """


@dead.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of all events, complete.")
def list_dead(as_json: bool) -> None:
    """List the events, the oldest first."""
    with open_redis() as redis:
        stream = DeadLetterStream(redis)
        if as_json:
            _print_json(stream.entries())
            return
        count, shown = stream.count(), list(islice(stream.entries(), SHOWN))
    if not shown:
        click.echo("No dead-lettered events.", err=True)
        return
    headings = ("id", "dead-lettered", "account", "model", "bytes", "reason")
    for line in format_table(headings, [_row(entry) for entry in shown], pretty=on_terminal()):
        click.echo(line)
    if count > len(shown):
        click.echo(f"{count - len(shown)} more. List all: tollgate dead list --json", err=True)
    click.echo(
        "Next: fix the cause and run `tollgate dead retry`, or discard the events with"
        " `tollgate dead drop`.",
        err=True,
    )


@dead.command("retry")
@click.argument("entry_ids", metavar="[ID]...", nargs=-1, type=EntryId())
@click.option("--all", "everything", is_flag=True, help="All current events.")
def retry_dead(entry_ids: tuple[str, ...], everything: bool) -> None:
    """Move events back to the stream. The worker posts them, or moves them here again.

    An event that the ledger already has is not counted again.
    """
    _check(entry_ids, everything)
    with open_redis() as redis:
        stream = DeadLetterStream(redis)
        moved = _apply(stream.retry, _every_id(stream) if everything else entry_ids)
    if moved:
        record_after(Change("dead.retry", detail={"events": moved}))
    click.echo(f"{_events(moved)} moved back. Check in a moment: tollgate dead list", err=True)
    _fail_if_missing(entry_ids, moved)


@dead.command("drop")
@click.argument("entry_ids", metavar="[ID]...", nargs=-1, type=EntryId())
@click.option(
    "--all", "everything", is_flag=True, help="All current events; asks for confirmation."
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def drop_dead(entry_ids: tuple[str, ...], everything: bool, yes: bool) -> None:
    """Delete events permanently. Their usage is never posted, and does not count as missing.

    To keep a copy: tollgate dead list --json > dead.json
    """
    _check(entry_ids, everything)
    with open_redis() as redis:
        stream = DeadLetterStream(redis)
        if everything and not yes and (count := stream.count()):
            click.confirm(f"Delete {_events(count)} permanently?", abort=True, err=True)
        # First: a web process would send again what is missing.
        if lost := list(_numbered(stream, None if everything else set(entry_ids))):
            with open_ledger() as engine:
                write_off(engine, lost)
        dropped = _apply(stream.drop, _every_id(stream) if everything else entry_ids)
    if dropped:
        record_after(Change("dead.drop", detail={"events": dropped}))
    click.echo(f"{_events(dropped)} dropped.", err=True)
    _fail_if_missing(entry_ids, dropped)


def _check(entry_ids: Sequence[str], everything: bool) -> None:
    if bool(entry_ids) == everything:
        raise click.UsageError("Give IDs from `tollgate dead list`, or --all.")


def _numbered(stream: DeadLetterStream, entry_ids: Container[str] | None) -> Iterator[Missing]:
    """Yield the requests of dead letters, of all if `entry_ids` is None."""
    for entry in stream.entries():
        it = numbered(entry.raw) if entry_ids is None or entry.entry_id in entry_ids else None
        if it is not None and it.key is not None:
            process, number = it.key
            yield Missing(process, number, number, it.started_at_ms, it.started_at_ms, 0)


def _every_id(stream: DeadLetterStream) -> Iterator[str]:
    return (entry.entry_id for entry in stream.entries())


def _apply(act: Callable[[Sequence[str]], list[str]], entry_ids: Iterable[str]) -> int:
    """Call `act` with the entries in batches; return how many existed."""
    waiting, count = iter(dict.fromkeys(entry_ids)), 0
    while part := list(islice(waiting, AT_ONCE)):
        count += len(act(part))
    return count


def _fail_if_missing(entry_ids: Sequence[str], found: int) -> None:
    """Fail if an entry that was given by its id does not exist."""
    missing = len(set(entry_ids)) - found
    if entry_ids and missing:
        raise click.ClickException(
            f"{missing} of the IDs do not exist. List the events: tollgate dead list"
        )


def _events(count: int) -> str:
    return f"{count} event{'' if count == 1 else 's'}"


def _row(entry: DeadLetter) -> tuple[Cell, ...]:
    fields = _fields(entry) or {}
    account, vendor, model = (_text(fields.get(name)) for name in ("account_id", "vendor", "model"))
    name = f"{vendor}/{model}" if vendor and model else model
    since = show_time(entry.dead_lettered_at_ms)
    return (entry.entry_id, since, account, name, len(entry.raw), entry.reason)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _fields(entry: DeadLetter) -> dict[str, Any] | None:
    """Return the event's fields; None if it is not a JSON object."""
    try:
        fields = orjson.loads(entry.raw)
    except orjson.JSONDecodeError:
        return None
    return fields if isinstance(fields, dict) else None


def _print_json(entries: Iterable[DeadLetter]) -> None:
    """Print an array entry by entry: all entries may not fit into memory."""
    separator = "["
    for entry in entries:
        click.echo(f"{separator}\n{json.dumps(_as_dict(entry))}", nl=False)
        separator = ","
    click.echo("[]" if separator == "[" else "\n]")


def _as_dict(entry: DeadLetter) -> dict[str, Any]:
    """Return an entry as JSON; an event that is not a JSON object is base64-encoded."""
    fields = _fields(entry)
    return {
        "id": entry.entry_id,
        "dead_lettered_at_ms": entry.dead_lettered_at_ms,
        "reason": entry.reason,
        "event": fields,
        "raw_base64": None if fields is not None else base64.b64encode(entry.raw).decode(),
    }
