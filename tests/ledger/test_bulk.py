"""Writing many rows in one statement."""

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from app.ledger.bulk import array_literal
from app.ledger.posting import Ledger
from app.storage.sql.engine import create_engine
from tests.ledger.ledgers import as_posted, ledger_of
from tests.support.events import usage_event

LIKE_SYNTAX = [
    "",
    "NULL",
    "null",
    "{}",
    "{",
    ",",
    '"',
    "\\",
    "\\n",
    "\\u0000",
    "a\nb",
    "\t\x01\x7f",
]
TEXTS = st.sampled_from(LIKE_SYNTAX) | st.text(
    st.characters(exclude_characters="\0", codec="utf-8"), max_size=20
)


@pytest.fixture
def postgres_engine(postgres_url: str) -> Iterator[Engine]:
    """An engine on PostgreSQL."""
    engine = create_engine(postgres_url)
    yield engine
    engine.dispose()


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    texts=st.lists(st.none() | TEXTS, min_size=1, max_size=8),
    numbers=st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8),
    booleans=st.lists(st.none() | st.booleans(), min_size=1, max_size=8),
)
def test_an_array_is_read_as_it_was_written(
    postgres_engine: Engine,
    texts: list[str | None],
    numbers: list[int | None],
    booleans: list[bool | None],
) -> None:
    values: dict[str, list[Any]] = {"text": texts, "bigint": numbers, "boolean": booleans}
    with postgres_engine.connect() as connection:
        for kind, written in values.items():
            read = sa.text(f"SELECT CAST(:written AS {kind}[])")
            assert connection.scalar(read, {"written": array_literal(written)}) == written


def test_names_that_look_like_syntax_are_kept(engine: Engine) -> None:
    events = [
        usage_event(user=text, model=text, account_id=text or "none", request_id=text)
        for text in LIKE_SYNTAX
    ]
    assert Ledger(engine).post(events) == len(events)
    assert ledger_of(engine) == as_posted(events)
    assert Ledger(engine).post(events) == 0
