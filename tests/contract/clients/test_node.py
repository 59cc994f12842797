"""OpenAI's client for Node with its helpers, and Vercel's AI SDK with both of its providers."""

from typing import Any

import pytest

from tests.contract.clients.backends import Backend
from tests.contract.clients.scenes import (
    BOTH_CITIES,
    OBJECT,
    PLACE,
    QUESTION,
    RESULTS,
    SUMMARY,
    TEXT,
    WHERE,
    says,
)
from tests.support.services.program import Program

PROVIDERS = ("openai", "compatible")


def check_answer(backend: Backend, found: Any) -> None:
    assert (found["text"], found["finish"]) == (TEXT, "stop")
    usage = found["usage"]
    backend.check_usage(usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"])


@pytest.mark.parametrize("scene", ["whole", "stream", "helper"])
def test_an_answer(backend: Backend, node: Program, scene: str) -> None:
    backend.says(says(TEXT))
    check_answer(backend, node.run(f"openai.{scene}", **backend.address, text=TEXT))


@pytest.mark.parametrize("scene", ["parse", "parse_stream"])
def test_a_parsed_answer(backend: Backend, node: Program, scene: str) -> None:
    backend.says(OBJECT)
    found = node.run(f"openai.{scene}", **backend.address, text=WHERE)
    assert found == PLACE.model_dump()


@pytest.mark.parametrize("streams", [False, True])
def test_a_runner_of_tools(backend: Backend, node: Program, streams: bool) -> None:
    backend.says(*BOTH_CITIES)
    given = {**backend.address, "text": QUESTION, "streams": streams, "results": RESULTS}
    assert node.run("openai.tools", **given) == SUMMARY
    backend.check_loop()


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    """Each of the AI SDK's providers."""
    name: str = request.param
    return name


@pytest.mark.parametrize("scene", ["whole", "stream"])
def test_the_ai_sdk_gets_an_answer(
    backend: Backend, node: Program, provider: str, scene: str
) -> None:
    backend.says(says(TEXT))
    given = {**backend.address, "provider": provider, "text": TEXT}
    check_answer(backend, node.run(f"ai.{scene}", **given))


@pytest.mark.parametrize("scene", ["tools", "stream_tools"])
def test_the_ai_sdk_runs_tools(backend: Backend, node: Program, provider: str, scene: str) -> None:
    backend.says(*BOTH_CITIES)
    given = {**backend.address, "provider": provider, "text": QUESTION, "results": RESULTS}
    assert node.run(f"ai.{scene}", **given) == SUMMARY
    backend.check_loop()


@pytest.mark.parametrize("scene", ["object", "stream_object"])
def test_the_ai_sdk_gets_an_object(
    backend: Backend, node: Program, provider: str, scene: str
) -> None:
    backend.says(OBJECT)
    given = {**backend.address, "provider": provider, "text": WHERE}
    assert node.run(f"ai.{scene}", **given) == PLACE.model_dump()
