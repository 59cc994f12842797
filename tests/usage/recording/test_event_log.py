"""The messages of an event that only the log has: short, ASCII, and read back exactly."""

import itertools
import random

import pytest

from app.usage.messages.call_usage import CallUsage
from app.usage.messages.event import UsageEvent
from app.usage.recording.event_log import (
    OPEN_LIMIT,
    PART_CHARS,
    PARTS_LIMIT,
    EventMessages,
    UnreadableMessage,
    event_messages,
)
from tests.support.events import usage_event


def long_event(calls: int = 500) -> UsageEvent:
    """An event of many calls, each with another name of the model."""
    dice = random.Random(7)  # noqa: S311 - repeatable
    names = (dice.randbytes(60).hex() for _ in range(calls))
    return usage_event(calls=tuple(CallUsage("sim", name) for name in names))


def messages_of(event: UsageEvent) -> list[str]:
    return list(event_messages(event.event_id, event.encode()))


def test_an_event_is_one_message_that_people_can_read() -> None:
    event = usage_event(user="someone")
    (message,) = messages_of(event)
    assert message == f"usage event not recorded yet: {event.encode().decode()}"
    assert EventMessages().read(message, 1) == event.encode()


@pytest.mark.parametrize(
    "user", ["Zoë", "a\u2028b\x85c", "\N{SNOWMAN}" * 256, "line\nbreak\r\t\x1b"]
)
def test_a_message_is_ascii_on_one_line_whatever_a_caller_writes(user: str) -> None:
    event = usage_event(user=user)
    (message,) = messages_of(event)
    assert message.isascii()
    assert message.isprintable()
    encoded = EventMessages().read(message, 1)
    assert encoded is not None
    assert UsageEvent.decode(encoded) == event


def test_a_long_event_is_several_messages_in_any_order() -> None:
    event = long_event()
    messages = messages_of(event)
    assert len(messages) > 3
    assert all(len(message) < PART_CHARS + 120 for message in messages)
    reader = EventMessages()
    found = [reader.read(message, 1) for message in reversed(messages)]
    assert found == [None] * (len(messages) - 1) + [event.encode()]
    assert list(reader.incomplete()) == []


def test_parts_of_several_events_and_copies_may_be_mixed() -> None:
    events = [long_event(200 + n) for n in range(3)]
    lines = list(itertools.chain(*itertools.zip_longest(*map(messages_of, events))))
    reader = EventMessages()
    doubled = [line for line in lines if line is not None for _ in range(2)]
    found = [encoded for line in doubled if (encoded := reader.read(line, 1))]
    assert {UsageEvent.decode(it).event_id for it in found} == {it.event_id for it in events}
    assert list(reader.incomplete()) == []  # the rest of the copies is no loss


@pytest.mark.parametrize("missing", [0, 1, -1])
def test_an_event_that_lacks_a_part_is_reported_by_the_line_of_its_first(missing: int) -> None:
    messages = messages_of(long_event())
    del messages[missing]
    reader = EventMessages()
    assert [reader.read(message, 5 + n) for n, message in enumerate(messages)] == [None] * len(
        messages
    )
    assert list(reader.incomplete(keep=1)) == []
    assert list(reader.incomplete()) == [5]
    assert list(reader.incomplete()) == []


def test_incomplete_events_are_forgotten_the_oldest_first() -> None:
    reader = EventMessages()
    for line in range(OPEN_LIMIT + 2):
        reader.read(f"usage event not recorded yet, part 1 of 2 of e{line}: QUJD", line)
    assert list(reader.incomplete(keep=OPEN_LIMIT)) == [0, 1]


def damaged() -> list[str]:
    whole, parts = messages_of(usage_event())[0], messages_of(long_event(60))
    return [
        whole[:25],
        "usage event not recorded yet",
        "usage event not recorded yet: ",
        "usage event not recorded yet, part 1 of ",
        parts[0] + '"',
        parts[0] + " and more",
        "usage event not recorded yet, part 0 of 1 of e: QUJD",
        "usage event not recorded yet, part 2 of 1 of e: QUJD",
        f"usage event not recorded yet, part 1 of {PARTS_LIMIT + 1} of e: QUJD",
        "usage event not recorded yet, part 1 of 1 of e: QUJD",
        "usage event not recorded yet, part 1 of 1 of e: QUJ",
    ]


@pytest.mark.parametrize("message", damaged())
def test_a_damaged_message_is_reported(message: str) -> None:
    reader = EventMessages()
    with pytest.raises(UnreadableMessage):
        reader.read(message, 1)


@pytest.mark.parametrize("cut", [1, 4, 400])
def test_a_cut_part_is_no_event(cut: int) -> None:
    messages = messages_of(long_event())
    messages[1] = messages[1][:-cut]
    reader = EventMessages()
    for message in messages[:-1]:
        assert reader.read(message, 1) is None
    with pytest.raises(UnreadableMessage, match="do not fit together"):
        reader.read(messages[-1], 1)
