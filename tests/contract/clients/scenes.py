"""The conversations that every client has, and what the model says in them."""

import json
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

#: The user's words are the model's, too, so that the sandbox's echo takes part.
TEXT = "Rain is falling on Paris again"
PIECES = TEXT.split(" ")

#: What the tool knows.
DEGREES = {"Paris": 12, "Oslo": 3}
QUESTION = "How warm is it in Paris and in Oslo?"
SUMMARY = "It is 12 degrees in Paris and 3 degrees in Oslo"


class Place(BaseModel):
    """A place and its temperature."""

    city: str
    degrees: int


PLACE = Place(city="Paris", degrees=12)
PLACE_TEXT = PLACE.model_dump_json()


def weather(city: str) -> str:
    """Return how warm it is in a city."""
    return f"{DEGREES[city]} degrees"


WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Return how warm it is in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
        "strict": True,
    },
}


@dataclass(frozen=True)
class Call:
    """A call of a tool that the model makes."""

    name: str
    arguments: dict[str, Any]

    @property
    def text(self) -> str:
        """The arguments as a model writes them."""
        return json.dumps(self.arguments)


@dataclass(frozen=True)
class Turn:
    """What the model says to one request."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = "stop"


#: The turns of a conversation in which the model asks for both cities at once.
BOTH_CITIES = (
    Turn(calls=tuple(Call("weather", {"city": city}) for city in DEGREES)),
    Turn(SUMMARY),
)
