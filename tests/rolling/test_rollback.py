"""A new web process whose worker is still the older one, and then an older one after it."""

from contextlib import closing
from pathlib import Path

from tests.rolling.rollout import Rollout, installed
from tests.rolling.versions import NEWER, Version
from tests.rolling.visitor import Visitor

#: Requests that each web process answers in each state of the installation.
SOME, MANY = 10, 25


def test_web_processes_that_come_first_or_go_back_lose_and_double_nothing(
    tmp_path: Path, empty_database: str, older: Version
) -> None:
    with installed(tmp_path, empty_database, older, seed=21) as rollout:
        load, visitor = rollout.load, Visitor(rollout.load.api_key)
        rollout.migrate(NEWER)
        old_worker, new_beat = rollout.worker(older), rollout.beat(NEWER)
        new_web = rollout.web(NEWER)
        of_new = load.hold(new_web.port)
        load.start()
        send_unknown_task(rollout)
        load.go_on(MANY)

        old_web = rollout.web(older)
        with closing(visitor.browser):
            visitor.go_on(old_web, visitor.begin(new_web))
        records = rollout.held(of_new)
        rollout.die(records, new_web, whole=True)
        load.go_on(MANY)
        rollout.wait_until_reaped(records, old_worker)
        assert "Received unregistered task" in old_worker.log

        rollout.worker(NEWER)
        old_beat = rollout.beat(older)
        rollout.stop(old_worker, new_beat)
        load.go_on(MANY)

        rollout.web(NEWER)
        rollout.beat(NEWER)
        rollout.stop(old_web, old_beat)
        load.go_on(SOME)
        rollout.settle()
        rollout.check(abandoned=of_new)


def send_unknown_task(rollout: Rollout) -> None:
    """Send a task that the older worker does not know, as the beat of a later version does."""
    send = "from workers.celery_app import celery_app as app; app.send_task('usage.of_tomorrow')"
    NEWER.output_of("-c", send, env=rollout.env)
