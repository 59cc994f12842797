"""The deviations: a table, with a module for each kind."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.contract.wild.draft import Draft

#: Families of wires, by what their answers have in common.
OPENAI = ("text", "chat")
SSE = (*OPENAI, "anthropic", "cohere", "google", "v1")
ALL = (*SSE, "converse", "invoke")


@dataclass(frozen=True)
class Deviation:
    """One thing that a vendor may do to an answer.

    stage       said: before the wire speaks; spoken: to its events or its body; sent: to its bytes
    modes       "stream", "whole", or both: what the caller asked for
    shape       what it needs: "" any request; "one": a single choice; "several": n > 1 in one call;
                "list": several prompts in one call; "call": any request that is one call
    breaks      it ends in a failure, or leaves open which side a reader takes
    excludes    kinds that make no sense together with it
    everywhere  the calls that ask again meet it, too
    unrated     the simulated vendor cannot write it beside log probabilities
    """

    name: str
    kind: str
    families: tuple[str, ...]
    apply: Callable[[Draft], None]
    stage: str = "said"
    modes: tuple[str, ...] = ("stream", "whole")
    shape: str = ""
    breaks: bool = False
    excludes: frozenset[str] = frozenset()
    everywhere: bool = False
    unrated: bool = False
    rows: tuple[str, ...] = ()
    source: str = ""
