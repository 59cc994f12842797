"""What web processes share: reservations, idempotency keys, circuits; and the tasks of workers."""

from collections.abc import Callable
from typing import Any

from app.admission.reservations import Charge, Check
from app.serving.circuit_breaker import FAILURE_THRESHOLD, CircuitBreaker
from app.usage.redis.idempotency_keys import Claim, IdempotencyKeys, StoredResponse
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stream import EventStream
from app.vocabulary.errors import TollgateError
from tests.rolling.exchange.apart import admit as reserve
from tests.rolling.exchange.apart import heartbeat
from tests.rolling.exchange.samples import (
    STARTED_MS,
    Parts,
    event,
    prices,
    record,
    redis,
    waiting,
)
from workers.celery_app import celery_app
from workers.reaper import reap

LIMIT_KEYS = {
    "requests": "limits:account:acme:rpm",
    "tokens": "limits:account:acme:tpm",
    "streams": "limits:account:acme:streams",
    "budget": "limits:account:acme:2100-01-01:month",
}
LIMITS = {"requests": 2, "tokens": 1000, "streams": 2, "budget": 100}


def admit(event_id: str) -> bool:
    """Reserve one of everything for a request, most of the tokens and of the budget."""
    amounts = {"requests": 1, "tokens": 990, "streams": 1, "budget": 70}
    checks = [
        Check(kind=kind, key=key, limit=LIMITS[kind], amount=amounts[kind], ends_s=4_102_444_800)  # type: ignore[arg-type]
        for kind, key in LIMIT_KEYS.items()
    ]
    return reserve(event_id, record(event_id).encode(), STARTED_MS, checks)


def reserved() -> dict[str, int]:
    """Return what is reserved, and what of the budget is spent."""
    budget: Any = redis().hgetall(LIMIT_KEYS["budget"])
    return {
        "requests": redis().hlen("usage:reserved"),
        "streams": redis().scard(LIMIT_KEYS["streams"]),
        "budget": int(budget.get(b"reserved", 0)),
        "spent": int(budget.get(b"spent", 0)),
    }


def claim(owner: str, body: bytes = b"{}") -> Claim | StoredResponse:
    """Claim the one idempotency key there is, for a process that is live."""
    heartbeat(owner)
    return IdempotencyKeys(redis(), OpenRecords(redis()), lambda: owner).claim(
        "acme", "once", body, "req_1"
    )


def claimed(body: bytes = b"{}") -> Any:
    """Claim it again; return what comes of it: an error's code, a response, or None."""
    try:
        found = claim("reader", body)
    except TollgateError as exc:
        return exc.code
    if isinstance(found, Claim):
        return None
    headers = [list(it) for it in found.headers]
    return [found.status, headers, found.body.decode(), found.request_id, found.is_cut]


def end_claim(how: Callable[[Claim], None]) -> None:
    """Claim the key, and end the claim."""
    mine = claim("writer")
    assert isinstance(mine, Claim)
    how(mine)


def write_reservation() -> None:
    """What a request has reserved: the reader finds it, and publishes the request's event."""
    admit("e1")


def read_reservation(_: Any) -> Any:
    before = [admit("e2"), reserved()]
    EventStream(redis()).publish(event("e1"), Charge(50, 7))
    charged: Any = redis().xrange("usage:events")
    return [before, reserved(), int(charged[0][1][b"charged"]), admit("e3")]


def write_abandoned_reservation() -> None:
    """The same for a request whose process crashed."""
    admit("e1")


def read_abandoned_reservation(_: Any) -> Any:
    reap(OpenRecords(redis()), prices=prices())
    return [reserved(), len(waiting())]


def write_running_claim() -> None:
    """An idempotency key whose request is running, until its process crashes."""
    claim("writer")


def read_running_claim(_: Any) -> Any:
    running = claimed()
    redis().delete("usage:owner:writer")
    return [running, claimed()]


def write_stored_response() -> None:
    """A response that is stored under an idempotency key."""
    headers = [("x-request-id", "req_1"), ("content-type", "text/event-stream")]
    end_claim(lambda it: it.store(200, headers, "Zoë".encode(), is_cut=True))


def read_stored_response(_: Any) -> Any:
    return [claimed(), claimed(b"another body")]


def write_unstored_response() -> None:
    """An idempotency key whose response was too large."""
    end_claim(lambda it: it.store_nothing())


def read_unstored_response(_: Any) -> Any:
    return claimed()


def write_circuit() -> None:
    """A circuit that is open, and a failure before the last one that opens another."""
    breaker = CircuitBreaker(redis())
    for number in range(FAILURE_THRESHOLD):
        breaker.record_failure("broken")
        if number:
            breaker.record_failure("breaking")


def read_circuit(_: Any) -> Any:
    before = CircuitBreaker(redis()).open_circuits()
    CircuitBreaker(redis()).record_failure("breaking")
    return [sorted(before), sorted(CircuitBreaker(redis()).open_circuits())]


def write_tasks() -> list[str]:
    """The tasks that beat sends, of which the worker must know these."""
    conf = celery_app.conf
    prefix = conf.broker_transport_options["global_keyprefix"]
    tasks = [it["task"] for it in conf.beat_schedule.values()]
    return [f"{prefix}{conf.task_default_queue}", *tasks]


def read_tasks(told: Any) -> Any:
    celery_app.loader.import_default_modules()
    queue, *sent = told
    return [queue == write_tasks()[0], sorted(set(sent) & set(celery_app.tasks))]


PARTS: Parts = {
    "reservation": (write_reservation, read_reservation),
    "abandoned reservation": (write_abandoned_reservation, read_abandoned_reservation),
    "running claim": (write_running_claim, read_running_claim),
    "stored response": (write_stored_response, read_stored_response),
    "unstored response": (write_unstored_response, read_unstored_response),
    "circuit": (write_circuit, read_circuit),
    "tasks": (write_tasks, read_tasks),
}
