"""Counts of refused requests in the ledger."""

from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import Engine

from app.ledger.refusals import REMEMBERED_MS, post_refusals, prune_refusals
from app.storage.sql.tables import DAY_S, refusal_batches, refusals
from app.usage.refusal import Refusal
from tests.ledger.ledgers import MIDNIGHT_S, rows

ONE = Refusal(MIDNIGHT_S, "acme", "key_1", "completions", "invalid_json")
TWO = ONE._replace(hour_s=MIDNIGHT_S + DAY_S, account_id="", api_key_id="")


def counted(engine: Engine) -> dict[tuple[int, str], int]:
    return {(row["hour_s"], row["account_id"]): row["requests"] for row in rows(engine, refusals)}


def test_batches_are_added_and_each_counts_once(engine: Engine) -> None:
    assert post_refusals(engine, "b1", {ONE: 2, TWO: 1}, 0)
    assert not post_refusals(engine, "b1", {ONE: 2, TWO: 1}, 0)
    assert post_refusals(engine, "b2", {ONE: 3}, 0)
    assert post_refusals(engine, "b3", {}, 0)
    assert counted(engine) == {(MIDNIGHT_S, "acme"): 5, (MIDNIGHT_S + DAY_S, ""): 1}


def test_workers_that_post_the_same_batch_at_once_count_it_once(engine: Engine) -> None:
    with ThreadPoolExecutor(4) as pool:
        posts = [pool.submit(post_refusals, engine, "b", {ONE: 2, TWO: 1}, 0) for _ in range(8)]
        assert sorted(post.result() for post in posts) == [False] * 7 + [True]
    assert counted(engine)[MIDNIGHT_S, "acme"] == 2


def test_old_batches_are_forgotten(engine: Engine) -> None:
    post_refusals(engine, "old", {ONE: 1}, 0)
    post_refusals(engine, "new", {ONE: 1}, REMEMBERED_MS + 1)
    assert [row["batch_id"] for row in rows(engine, refusal_batches)] == ["new"]


def test_whole_days_are_pruned(engine: Engine) -> None:
    post_refusals(engine, "b1", {ONE: 2, TWO: 1}, 0)
    assert prune_refusals(engine, MIDNIGHT_S + DAY_S - 1) == 0
    assert prune_refusals(engine, MIDNIGHT_S + DAY_S + 5) == 1
    assert counted(engine) == {(MIDNIGHT_S + DAY_S, ""): 1}
