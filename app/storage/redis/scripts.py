"""Lua scripts: read from `*.lua` files beside the store that uses them, and run by their hash.

Does not know what a script does.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from redis import Redis
from redis.exceptions import NoScriptError

Argument = str | bytes | int | float


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script; `sha` is the name that Redis gives it."""

    source: str
    sha: str = field(init=False)

    def __post_init__(self) -> None:
        digest = hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()
        object.__setattr__(self, "sha", digest)


def read_lua(package: str, *names: str, **constants: int) -> str:
    """Return the source of `<name>.lua` files in a package, joined in that order.

    Each of `constants` is a Lua local of that name at the top of the source.
    """
    lines = [f"local {name} = {value}\n" for name, value in constants.items()]
    texts = [files(package).joinpath(f"{name}.lua").read_text(encoding="utf-8") for name in names]
    return "".join([*lines, *texts])


#: What a script starts with that must run even if Redis is full.
EVEN_IF_FULL = read_lua(__package__, "even_if_full")


def run(redis: "Redis", script: Script, keys: Sequence[str], args: Sequence[Argument] = ()) -> Any:
    """Run a script by its hash and return its result; load it first if Redis does not know it.

    One atomic step in one round trip, or in three after Redis was restarted.
    Raises: RedisError, OSError.
    """
    command = (script.sha, len(keys), *keys, *args)
    try:
        return redis.evalsha(*command)  # type: ignore[arg-type]
    except NoScriptError:
        redis.script_load(script.source)
    return redis.evalsha(*command)  # type: ignore[arg-type]
