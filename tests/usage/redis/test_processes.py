"""What web processes and workers tell each other through Redis."""

from redis import Redis

from app.admission.numbering import Numbering
from app.storage.redis.keys import EPOCH, OWNER
from app.usage.missing import Missing, Search
from app.usage.numbers import with_numbers
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.processes import OWNER_TTL_S, Processes
from tests.support.services.valkey import Valkey


def numbering(process: str = "web-1", last: int = 0) -> Numbering:
    found = Numbering(process)
    found.given(last)
    return found


def test_a_heartbeat_lasts_for_a_while_and_says_whether_usage_is_spooled(redis: "Redis") -> None:
    processes = Processes(redis)
    processes.heartbeat(numbering("web-1"))
    processes.heartbeat(numbering("web-2"), spools=True)
    live = OpenRecords(redis).live_owners(["web-1", "web-2", "web-3"])
    assert live == {"web-1": b"1", "web-2": b"spools"}
    assert 0 < redis.ttl(f"{OWNER}web-1") <= OWNER_TTL_S


def test_a_heartbeat_raises_the_last_number_and_tells_what_redis_knew(redis: "Redis") -> None:
    processes = Processes(redis)
    assert processes.heartbeat(numbering(last=5)).known == 0
    assert processes.heartbeat(numbering(last=3)).known == 5
    assert processes.given() == {"web-1": 5}
    processes.raise_given("web-1", 4)
    processes.raise_given("web-2", 2)
    assert processes.given() == {"web-1": 5, "web-2": 2}


def test_a_heartbeat_answers_what_is_posted_and_missing(redis: "Redis") -> None:
    processes = Processes(redis)
    search = Search(7, (Missing("web-1", 1, 2, 3, 4, 5),))
    posted = {"web-1": with_numbers((), [(3, 9)])}
    processes.store(posted, search)
    told = processes.heartbeat(numbering(), about=["web-1", "unknown"])
    assert told.missing == search.missing
    assert told.posted == posted | {"unknown": ()}
    assert processes.search() == search
    processes.forget(["web-1"])
    processes.forget([])
    assert processes.heartbeat(numbering("web-2"), about=["web-1"]).posted == {"web-1": ()}


def test_the_memory_has_another_name_after_it_was_lost_or_the_server_restarted(
    own_valkey: Valkey,
) -> None:
    with Redis.from_url(own_valkey.url) as redis:
        processes = Processes(redis)

        def name() -> str:
            return processes.heartbeat(numbering()).memory

        names = [name()]
        assert name() == names[0]
        redis.flushall()
        names.append(name())
        own_valkey.kill()
        own_valkey.start()
        names.append(name())
        redis.execute_command("ACL", "SETUSER", "default", "-info")
        names.append(name())  # of the data alone
        assert names[-1].strip() == (redis.get(EPOCH) or b"").decode()
        assert len(set(names)) == len(names)
