"""LlamaIndex's OpenAILike, and its function agent."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.clients.backends import Backend
from tests.contract.clients.scenes import (
    BOTH_CITIES,
    PLACE,
    QUESTION,
    RESULTS,
    SUMMARY,
    TEXT,
    WHERE,
    calls,
    says,
)
from tests.support.services.program import Program
from tests.support.services.python_packages import python_with

#: In an environment of its own: it needs an older OpenAI client and an older marshmallow.
PACKAGE = "llama-index-llms-openai-like>=0.8,<0.9"
SCENES = Path(__file__).parent / "programs" / "llama_index_scenes.py"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    log = tmp_path_factory.mktemp("llama-index") / "log"
    program = Program([str(python_with(PACKAGE)), str(SCENES)], os.environ, log)
    yield program
    program.close()


def run(program: Program, backend: Backend, scene: str, text: str, **given: Any) -> Any:
    return program.run(scene, **backend.address, text=text, **given)


@pytest.mark.parametrize("scene", ["chat", "achat"])
def test_a_whole_answer(backend: Backend, program: Program, scene: str) -> None:
    backend.says(says(TEXT))
    found = run(program, backend, scene, TEXT)
    assert found["text"] == TEXT
    usage = found["usage"]
    backend.check_usage(usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"])


@pytest.mark.parametrize("scene", ["stream_chat", "astream_chat"])
def test_a_stream(backend: Backend, program: Program, scene: str) -> None:
    backend.says(says(TEXT))
    assert "".join(run(program, backend, scene, TEXT)) == TEXT


def test_calls_of_tools(backend: Backend, program: Program) -> None:
    backend.says(*BOTH_CITIES)
    found = run(program, backend, "predict_and_call", QUESTION, results=RESULTS)
    assert found == list(RESULTS.values())


def test_an_agent_with_a_tool(backend: Backend, program: Program) -> None:
    """It streams, and reads one call a chunk."""
    backend.says(*BOTH_CITIES)
    assert run(program, backend, "agent", QUESTION, results=RESULTS) == SUMMARY
    backend.check_loop()


def test_a_structured_answer(backend: Backend, program: Program) -> None:
    backend.says(calls(("Place", PLACE)))
    assert run(program, backend, "structured", WHERE) == PLACE.model_dump()
