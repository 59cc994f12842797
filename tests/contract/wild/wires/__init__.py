"""The formats, each written from a draft: its samples, finish reasons, indices and usage."""

from typing import Protocol

from tests.contract.wild.draft import Draft, Event
from tests.support.vendors.base import Said


class Speaker(Protocol):
    """Speaks one wire."""

    #: What deviations call the wire.
    family: str

    def render(self, draft: Draft) -> None:
        """Make the draft's body, or its events."""
        ...

    def frame(self, draft: Draft, event: Event) -> bytes:
        """Return one event as it is sent."""
        ...

    def dump(self, draft: Draft) -> bytes:
        """Return a whole answer as it is sent."""
        ...


def said_of(draft: Draft, position: int = 0) -> Said:
    """Return what the simulated vendor is to say: a sample, with the call's counts."""
    sample, told = draft.truth.samples[position], draft.truth.told
    return Said(
        text=sample.text,
        finish="stop" if sample.finish == "?" else sample.finish,  # type: ignore[arg-type]
        prompt_tokens=told.prompt or 0,
        completion_tokens=told.completion or 0,
        cached_tokens=told.cached,
    )
