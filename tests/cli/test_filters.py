"""Options that narrow a command."""

import click
import pytest
from sqlalchemy import Engine

from app.accounts.accounts import Accounts
from app.cli.filters import ModelName, check_names, chosen
from app.ledger.posting import Ledger
from tests.support.events import usage_event


def test_a_name_is_known_if_it_exists_or_has_usage(engine: Engine) -> None:
    accounts = Accounts(engine)
    accounts.create("idle", "Idle")
    key, _ = accounts.create_key(["idle"], ["completions"])
    Ledger(engine).post([usage_event(account_id="gone", api_key_id="key_gone", model="a/b")])
    check_names(
        engine,
        account_ids=("idle", "gone"),
        api_key_ids=(key.key_id, "key_gone"),
        models=("openai/a/b",),
    )
    for names in (
        {"account_ids": ("idle", "Gone")},
        {"api_key_ids": ("key_other",)},
        {"models": ("openai/a/b", "vllm/a/b")},
    ):
        with pytest.raises(click.ClickException) as caught:
            check_names(engine, **names)
        assert max(names.values())[-1] in str(caught.value)


def test_the_beginning_of_a_key_is_no_id(engine: Engine) -> None:
    with pytest.raises(click.ClickException, match="Find the ID: tollgate keys find"):
        check_names(engine, api_key_ids=("tg_abcdefgh",))


def test_a_model_has_a_vendor() -> None:
    assert ModelName().convert("openai/ft:a/b", None, None) == "openai/ft:a/b"
    for text in ("gpt-4o", "/gpt-4o", "openai/"):
        with pytest.raises(click.BadParameter):
            ModelName().convert(text, None, None)


def test_an_option_that_is_not_given_is_no_filter() -> None:
    assert chosen(()) is None
    assert chosen(("a", "a")) == frozenset({"a"})
