"""Many callers at once, against the real server and a real worker."""

import random
import socket
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import requests

from tests.e2e.deployment import Candidate
from tests.support.gateway import sse_events, text_of
from tests.support.services.polling import wait_until
from tests.support.vendor import DONE, Asked, Reply, body_of, choice, stream_reply, usage_of


def served(asked: Asked) -> tuple[int, int]:
    """Return what the simulated vendor counts for a request: prompt and completion tokens."""
    body = asked.body
    prompts = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
    words = sum(len(prompt.split()) for prompt in prompts)
    return words, body["max_tokens"] * len(prompts) * body.get("n", 1)


def test_a_thousand_mixed_completions_are_in_the_ledger_to_the_token(
    deployment: Candidate,
) -> None:
    gateway, vendor = deployment.gateway, deployment.vendor
    keys = {f"tenant{at}": gateway.add_account(f"tenant{at}") for at in range(5)}
    dice = random.Random(7)  # noqa: S311 - a repeatable load

    def body_for(account_id: str) -> dict[str, Any]:
        streamed = dice.random() < 0.5
        return {
            "model": "sim/m",
            "user": account_id,
            "prompt": dice.choice(["one", "one two three", ["a b", "c d e"]]),
            "max_tokens": dice.randrange(1, 20),
            "n": dice.randrange(1, 4),
            **({"stream": True} if streamed else {}),
            **(
                {"stream_options": {"include_usage": True}}
                if streamed and dice.random() < 0.5
                else {}
            ),
        }

    jobs = [(account_id, body_for(account_id)) for account_id in list(keys) * 200]
    session = requests.Session()
    session.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=20))

    def ask(job: tuple[str, dict[str, Any]]) -> int:
        account_id, body = job
        headers = {"x-api-key": keys[account_id]}
        url = f"{gateway.base_url}/completions"
        return len(session.post(url, json=body, headers=headers, timeout=60).content)

    with ThreadPoolExecutor(20) as pool:
        assert all(pool.map(ask, jobs))
    session.close()

    prompts, completions, requests_ = Counter[str](), Counter[str](), Counter[str]()
    for asked in vendor.asked:
        account_id = asked.body.get("user")
        if account_id in keys:
            prompt_tokens, completion_tokens = served(asked)
            prompts[account_id] += prompt_tokens
            completions[account_id] += completion_tokens
            requests_[account_id] += 1
    assert sum(requests_.values()) == 1000
    for account_id in keys:
        row = deployment.usage(account_id)
        assert row is not None
        assert row.requests == requests_[account_id]
        assert row.usage.prompt_tokens == prompts[account_id]
        assert row.usage.completion_tokens == completions[account_id]
        assert row.usage.total_tokens == prompts[account_id] + completions[account_id]
        assert (row.failed_requests, row.estimated_requests) == (0, 0)
    assert gateway.redis.hlen("usage:open") == 0
    assert gateway.redis.xlen("usage:events") == 0
    assert gateway.redis.xlen("usage:dead") == 0


def test_two_hundred_streams_are_open_at_once_on_one_process(deployment: Candidate) -> None:
    gateway, vendor = deployment.gateway, deployment.vendor
    key = gateway.add_account("crowd")
    gate = threading.Event()

    def held(asked: Asked) -> Reply:
        name = asked.body["prompt"]
        first, last = body_of(choice(f"{name}:first ")), body_of(choice(f"{name}:last", "stop"))
        return stream_reply(first, gate, last, body_of(usage=usage_of(1, 2)), DONE)

    before = vendor.default
    vendor.default = held
    try:
        with ThreadPoolExecutor(200) as pool:
            body = {"model": "sim/m", "stream": True}
            answers = [
                pool.submit(
                    requests.post,
                    f"{gateway.base_url}/completions",
                    json={**body, "prompt": f"s{at}"},
                    headers={"x-api-key": key},
                    timeout=60,
                )
                for at in range(200)
            ]
            wait_until(lambda: gateway.redis.hlen("usage:open") == 200)
            wait_until(lambda: len(vendor.open_connections) >= 200)
            gate.set()
            for at, answer in enumerate(answers):
                events = sse_events(answer.result())
                assert text_of(events) == f"s{at}:first s{at}:last"
                assert events[-1] == ("done", "[DONE]")
    finally:
        vendor.default = before
    row = deployment.usage("crowd")
    assert row is not None
    assert (row.requests, row.usage.total_tokens) == (200, 600)


def test_a_caller_that_hangs_up_on_a_silent_vendor_ends_the_call_and_is_recorded_once(
    deployment: Candidate,
) -> None:
    gateway, vendor = deployment.gateway, deployment.vendor
    key = gateway.add_account("leaver")
    # Never set: nothing but the hang-up can end this call.
    vendor.reply(stream_reply(body_of(choice("some words here ")), threading.Event()))
    vendor.hang_ups.clear()
    with requests.post(
        f"{gateway.base_url}/completions",
        json={"model": "sim/m", "prompt": "one two", "stream": True},
        headers={"x-api-key": key},
        stream=True,
        timeout=60,
    ) as response:
        next(response.iter_content(10))
    wait_until(lambda: vendor.hang_ups)
    row = deployment.usage("leaver")
    assert row is not None
    assert (row.requests, row.estimated_requests) == (1, 1)
    assert (row.usage.prompt_tokens, row.usage.completion_tokens) == (2, 4)


def test_a_caller_that_hangs_up_before_the_vendor_says_a_word_is_recorded_with_its_prompt(
    deployment: Candidate,
) -> None:
    gateway, vendor = deployment.gateway, deployment.vendor
    key = gateway.add_account("early")
    answer, let_go, before = vendor.default, threading.Event(), len(vendor.asked)

    def hold(asked: Asked) -> Reply:
        let_go.wait()
        return answer(asked)

    vendor.default = hold
    url = urlsplit(gateway.base_url)
    body = b'{"model": "sim/m", "prompt": "one two", "stream": true}'
    head = f"POST {url.path}/completions HTTP/1.1\r\nhost: h\r\nx-api-key: {key}\r\n"
    try:
        with socket.create_connection((url.hostname or "", url.port or 0)) as connection:
            connection.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
            wait_until(lambda: len(vendor.asked) > before)
        row = deployment.usage("early")
    finally:
        vendor.default = answer
        let_go.set()
    assert row is not None
    assert (row.requests, row.estimated_requests) == (1, 1)
    assert (row.usage.prompt_tokens, row.usage.completion_tokens) == (2, 0)


def test_the_web_process_logs_no_fault_and_is_patched_in_time(deployment: Candidate) -> None:
    log = (deployment.root / "web.log").read_text()
    assert "MonkeyPatchWarning" not in log
    assert "Traceback" not in log
    assert "sk-simulated-secret" not in log
    assert deployment.gateway.api_key not in log
