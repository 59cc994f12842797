"""Event ids are UUIDs that sort by time."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from app.usage.messages.event_id import new_event_id


@given(st.integers(0, 2**48 - 1))
def test_an_event_id_is_a_uuid_of_version_7_that_carries_its_time(now_ms: int) -> None:
    event_id = uuid.UUID(new_event_id(now_ms))
    assert (event_id.version, event_id.variant) == (7, uuid.RFC_4122)
    assert event_id.int >> 80 == now_ms


def test_event_ids_are_distinct_and_sort_by_time() -> None:
    assert len({new_event_id(5) for _ in range(1000)}) == 1000
    assert new_event_id(5) < new_event_id(6) < new_event_id()
