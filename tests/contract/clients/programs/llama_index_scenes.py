"""Scenes of LlamaIndex, whose libraries exclude Tollgate's: run by a Python of its own.

Reads a line of JSON for each scene and prints a line with its result.
"""

import asyncio
import json
import sys
import traceback
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage, ChatResponse
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel


class Place(BaseModel):
    """A place and its temperature."""

    city: str
    degrees: int


Given = Mapping[str, Any]


def chat(model: OpenAILike, given: Given) -> Any:
    """Return the text and the usage of a whole answer."""
    return _answer(model.chat([ChatMessage(role="user", content=given["text"])]))


def stream_chat(model: OpenAILike, given: Given) -> Any:
    """Return the pieces of a stream."""
    messages = [ChatMessage(role="user", content=given["text"])]
    return [piece.delta for piece in model.stream_chat(messages)]


async def achat(model: OpenAILike, given: Given) -> Any:
    """Return the text and the usage of a whole answer of a coroutine."""
    return _answer(await model.achat([ChatMessage(role="user", content=given["text"])]))


async def astream_chat(model: OpenAILike, given: Given) -> Any:
    """Return the pieces of a stream of a coroutine."""
    messages = [ChatMessage(role="user", content=given["text"])]
    return [piece.delta async for piece in await model.astream_chat(messages)]


def _answer(response: ChatResponse) -> Any:
    usage = response.raw.usage if response.raw is not None else None
    return {"text": response.message.content, "usage": usage and usage.model_dump()}


def predict_and_call(model: OpenAILike, given: Given) -> Any:
    """Return what the tools say that the model calls."""
    found = model.predict_and_call(
        [_tool(given)], user_msg=given["text"], allow_parallel_tool_calls=True
    )
    return [source.content for source in found.sources]


async def agent(model: OpenAILike, given: Given) -> Any:
    """Return what an agent says, which streams."""
    helper = FunctionAgent(tools=[_tool(given)], llm=model, system_prompt="Be brief.")
    return str(await helper.run(given["text"]))


def _tool(given: Given) -> FunctionTool:
    def weather(city: str) -> str:
        """Return how warm it is in a city."""
        return str(given["results"][city])

    return FunctionTool.from_defaults(weather)


def structured(model: OpenAILike, given: Given) -> Any:
    """Return an answer as an object, which LlamaIndex gets by a call of a tool."""
    found = model.as_structured_llm(Place).chat([ChatMessage(role="user", content=given["text"])])
    return found.raw.model_dump()


SCENES: Mapping[str, Callable[[OpenAILike, Given], Any]] = {
    scene.__name__: scene
    for scene in (chat, stream_chat, achat, astream_chat, predict_and_call, agent, structured)
}


def _run(given: Given) -> Any:
    model = OpenAILike(
        model=given["model"],
        api_base=given["base_url"],
        api_key=given["api_key"],
        is_chat_model=True,
        is_function_calling_model=True,
        max_retries=0,
        timeout=30,
    )
    found = SCENES[given["scene"]](model, given)
    return _waited(found) if asyncio.iscoroutine(found) else found


def _waited(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(coroutine)


def main() -> None:
    """Run scenes until standard input ends."""
    for line in sys.stdin:
        try:
            found = {"result": _run(json.loads(line))}
        except Exception:  # noqa: BLE001 - the test shows it
            found = {"failed": traceback.format_exc()}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
