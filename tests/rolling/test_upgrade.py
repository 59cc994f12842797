"""An upgrade under load, process by process, and a way back: nothing lost, nothing twice.

Each scenario ends with all processes of the newer version, as every upgrade does.
"""

from pathlib import Path

import requests

from tests.rolling.rollout import Member, Rollout, installed
from tests.rolling.versions import NEWER, Version

#: Requests that each web process answers in each state of the installation.
SOME, MANY = 15, 60

BODY = {"model": "sim/m", "max_tokens": 5, "top_p": 0.1}


def test_processes_are_replaced_one_by_one_and_a_worker_comes_back(
    tmp_path: Path, empty_database: str, older: Version
) -> None:
    with installed(tmp_path, empty_database, older, seed=12) as rollout:
        load = rollout.load
        old_worker, old_beat = rollout.worker(older), rollout.beat(older)
        old_web = rollout.web(older)
        lost = load.hold(old_web.port)
        load.start()
        load.go_on(SOME)

        rollout.migrate(NEWER)
        load.go_on(SOME)

        new_worker, _ = rollout.worker(NEWER), rollout.beat(NEWER)
        load.go_on(SOME)  # with two workers and two beats
        rollout.stop(old_worker, old_beat)
        browser = sign_in(old_web, load.api_key)
        answer = ask_once(old_web, load.api_key)
        new_web = rollout.web(NEWER)
        records = rollout.held(lost)
        rollout.die(records, old_web)
        load.go_on(SOME)  # its master has started another web process
        assert is_signed_in(browser, new_web)
        assert_replayed(answer, ask_once(new_web, load.api_key))
        rollout.wait_until_reaped(records, new_worker)
        rollout.stop(old_web)

        held = load.hold(new_web.port)
        old_worker = rollout.worker(older)
        rollout.stop(new_worker)
        load.go_on(MANY)
        records = rollout.held(held)
        rollout.die(records, new_web)
        load.go_on(SOME)
        rollout.wait_until_reaped(records, old_worker)

        rollout.worker(NEWER)
        rollout.stop(old_worker)
        load.go_on(SOME)
        rollout.settle()
        rollout.check(abandoned=[*lost, *held])


def test_all_of_a_version_but_the_worker_is_rolled_back(
    tmp_path: Path, empty_database: str, older: Version
) -> None:
    with installed(tmp_path, empty_database, older, seed=21) as rollout:
        load = rollout.load
        rollout.migrate(NEWER)
        old_worker, new_beat = rollout.worker(older), rollout.beat(NEWER)
        new_web = rollout.web(NEWER)
        lost = load.hold(new_web.port)
        load.start()
        load.go_on(MANY)
        send_unknown_task(rollout)
        browser = sign_in(new_web, load.api_key)
        answer = ask_once(new_web, load.api_key)
        old_web = rollout.web(older)
        records = rollout.held(lost)
        rollout.die(records, new_web, whole=True)
        load.go_on(SOME)
        assert is_signed_in(browser, old_web)
        assert_replayed(answer, ask_once(old_web, load.api_key))
        rollout.wait_until_reaped(records, old_worker)
        assert "Received unregistered task" in old_worker.log

        rollout.worker(NEWER)
        old_beat = rollout.beat(older)
        rollout.stop(old_worker, new_beat)
        load.go_on(MANY)

        rollout.web(NEWER)
        rollout.beat(NEWER)
        load.go_on(SOME)
        rollout.stop(old_web, old_beat)
        load.go_on(SOME)
        rollout.settle()
        rollout.check(abandoned=lost)


def send_unknown_task(rollout: Rollout) -> None:
    """Have the older worker get a task that only a later version has, as a later beat sends it."""
    send = "from workers.celery_app import celery_app as app; app.send_task('usage.of_tomorrow')"
    NEWER.output_of("-c", send, env=rollout.env)


def sign_in(web: Member, api_key: str) -> requests.Session:
    """Sign in to the dashboard of a web process; return the browser."""
    browser = requests.Session()
    browser.post(f"{dashboard(web)}/sign-in", data={"api_key": api_key}, timeout=60)
    assert is_signed_in(browser, web)
    return browser


def is_signed_in(browser: requests.Session, web: Member) -> bool:
    """Whether a web process shows the dashboard, not the form to sign in."""
    response = browser.get(f"{dashboard(web)}/requests", allow_redirects=False, timeout=60)
    return response.status_code == 200


def dashboard(web: Member) -> str:
    return f"http://127.0.0.1:{web.port}/dashboard"


def ask_once(web: Member, api_key: str) -> requests.Response:
    """Ask for a completion with an idempotency key, the same in each call."""
    return requests.post(
        f"http://127.0.0.1:{web.port}/v5/completions",
        json={**BODY, "prompt": "once and for all", "user": "once"},
        headers={
            "x-api-key": api_key,
            "x-selected-account-id": "globex",
            "idempotency-key": "once",
        },
        timeout=60,
    )


def assert_replayed(first: requests.Response, second: requests.Response) -> None:
    """The second response is the first one, of another version."""
    assert first.status_code == second.status_code == 200, (first.text, second.text)
    assert second.content == first.content
    assert second.headers["x-tollgate-replay-of"] == first.headers["x-request-id"]
