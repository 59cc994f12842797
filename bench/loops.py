"""The event loop of the benchmark's own processes: uvloop's where it is installed."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """Return what makes the loop."""
    try:
        import uvloop  # noqa: PLC0415  # an extra
    except ImportError:
        return asyncio.new_event_loop
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run `main` to its end, or until Ctrl-C."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main)
