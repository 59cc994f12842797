"""The event loop of the benchmark's processes: uvloop if it is installed."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """Return the factory of event loops."""
    try:
        import uvloop  # noqa: PLC0415  # an extra
    except ImportError:
        return asyncio.new_event_loop
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run `main` until it ends, or until Ctrl-C."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main)
