"""The hours that posts mark."""

from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import Engine

from app.ledger.latency_hours import MarkedHour, mark_hours, marked_hours, unmark
from app.storage.sql.transactions import write


def test_an_hour_stays_marked_if_it_was_posted_to_again(engine: Engine) -> None:
    write(engine, lambda it: mark_hours(it, {3600, 7200}))
    write(engine, lambda it: mark_hours(it, {3600}))
    write(engine, lambda it: mark_hours(it, ()))
    assert marked_hours(engine, 0, 9999) == [MarkedHour(7200, 1), MarkedHour(3600, 2)]
    assert marked_hours(engine, 0, 7200) == [MarkedHour(3600, 2)]
    write(engine, lambda it: unmark(it, MarkedHour(3600, 1)))
    write(engine, lambda it: unmark(it, MarkedHour(7200, 1)))
    assert marked_hours(engine, 0, 9999) == [MarkedHour(3600, 2)]


def test_marks_of_concurrent_posts_are_all_counted(engine: Engine) -> None:
    with ThreadPoolExecutor(4) as pool:
        for done in [
            pool.submit(write, engine, lambda it: mark_hours(it, {0, 3600})) for _ in range(20)
        ]:
            done.result()
    assert {it.posts for it in marked_hours(engine, 0, 9999)} == {20}
