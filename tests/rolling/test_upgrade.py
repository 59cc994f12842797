"""An upgrade under load, process by process, in which the worker is rolled back for a while."""

from contextlib import closing
from pathlib import Path

from tests.rolling.rollout import installed
from tests.rolling.versions import NEWER, Version
from tests.rolling.visitor import Visitor

#: Requests that each web process answers in each state of the installation.
SOME, MANY = 10, 25


def test_an_upgrade_and_a_rollback_of_the_worker_lose_and_double_nothing(
    tmp_path: Path, empty_database: str, older: Version
) -> None:
    with installed(tmp_path, empty_database, older, seed=12) as rollout:
        load, visitor = rollout.load, Visitor(rollout.load.api_key)
        old_worker, old_beat, old_web = (
            rollout.worker(older),
            rollout.beat(older),
            rollout.web(older),
        )
        of_old = load.hold(old_web.port)
        load.start()
        load.go_on(SOME)

        rollout.migrate(NEWER)
        load.go_on(SOME)

        new_worker = rollout.worker(NEWER)
        rollout.beat(NEWER)
        load.go_on(SOME)  # with two workers and two beats
        rollout.stop(old_worker, old_beat)

        new_web = rollout.web(NEWER)
        of_new = load.hold(new_web.port)
        with closing(visitor.browser):
            visitor.go_on(new_web, visitor.begin(old_web))
        records = rollout.held(of_old)
        rollout.die(records, old_web)
        load.go_on(MANY)  # its master has started another web process
        rollout.wait_until_reaped(records, new_worker)
        rollout.stop(old_web)

        old_worker = rollout.worker(older)
        rollout.stop(new_worker)
        records = rollout.held(of_new)
        rollout.die(records, new_web)
        load.go_on(MANY)
        rollout.wait_until_reaped(records, old_worker)

        rollout.worker(NEWER)
        rollout.stop(old_worker)
        load.go_on(SOME)
        rollout.settle()
        rollout.check(abandoned=[*of_old, *of_new])
