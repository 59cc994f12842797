from app.gateways.conversation.marks import mark_of, marked_parts, result_parts
from tests.gateways.chat_rows import asked

HOUR = {"type": "ephemeral", "ttl": "1h"}


def test_each_part_has_its_own_mark_and_blank_ones_none() -> None:
    parts = [
        {"type": "text", "text": "a", "cache_control": HOUR},
        {"type": "text", "text": " ", "cache_control": HOUR},
        {"type": "text", "text": "b", "cache_control": None},
    ]
    (message,) = asked("v/m", [{"role": "user", "content": parts}]).messages
    assert [mark for _, mark in marked_parts(message)] == [HOUR, None]


def test_a_mark_of_a_message_is_its_last_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    texts, parted = asked(
        "v/m",
        [{"role": "user", "content": "a", "cache_control": HOUR},
         {"role": "user", "content": parts, "cache_control": HOUR}],
    ).messages  # fmt: skip
    assert [mark for _, mark in marked_parts(texts)] == [HOUR]
    assert [mark for _, mark in marked_parts(parted)] == [None, HOUR]


def test_a_mark_of_a_tools_message_is_the_results() -> None:
    (message,) = asked(
        "v/m", [{"role": "tool", "tool_call_id": "a", "content": "x", "cache_control": HOUR}]
    ).messages
    assert [mark for _, mark in result_parts(message)] == [None]
    assert mark_of(message.source) == HOUR
