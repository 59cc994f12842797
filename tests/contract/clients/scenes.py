"""The conversations that every client has, and what a scripted model says in them.

A scripted model says what the sandbox does, which echoes the user and makes the least object that
fits a schema. So one test is for both.
"""

from typing import Any

from pydantic import BaseModel

from tests.support.vendors.chat.script import Answer, Call, Text

TEXT = "Rain is falling on Paris again"

#: What the tool knows.
DEGREES = {"Paris": 12, "Oslo": 3}
QUESTION = "Paris Oslo how warm are they"
SUMMARY = "12 degrees 3 degrees"


class Place(BaseModel):
    """A place and its temperature."""

    city: str
    degrees: int


class Saying(BaseModel):
    """A text in JSON."""

    text: str


WHERE = "Paris"
PLACE = Place(city=WHERE, degrees=0)
SAYING = Saying(text=WHERE)


def weather(city: str) -> str:
    """Return how warm it is in a city."""
    return f"{DEGREES[city]} degrees"


RESULTS = {city: weather(city) for city in DEGREES}

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


def says(text: str) -> Answer:
    """Return an answer in words."""
    return Answer((Text(text),))


def calls(*called: tuple[str, BaseModel]) -> Answer:
    """Return an answer that calls tools by name."""
    return Answer(
        tuple(
            Call(f"call_{at}", name, arguments.model_dump_json())
            for at, (name, arguments) in enumerate(called)
        )
    )


class City(BaseModel):
    """What the tool wants to know."""

    city: str


#: The turns of a conversation in which the model asks for both cities at once.
BOTH_CITIES = (calls(*(("weather", City(city=city)) for city in DEGREES)), says(SUMMARY))
#: An answer as an object, and one as a call of a tool of this name.
OBJECT = says(PLACE.model_dump_json())
