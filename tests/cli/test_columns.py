"""The option that names columns."""

import click
import pytest

from app.cli.columns import Columns

COLUMNS = Columns(("account", "day", "hour"))


def test_names_keep_their_order_without_duplicates() -> None:
    assert COLUMNS.convert("day, account,day ", None, None) == ("day", "account")
    assert COLUMNS.convert(("day",), None, None) == ("day",)


@pytest.mark.parametrize(
    ("text", "message"),
    [("model", "unknown column 'model'. Columns are account, day, hour"), ("day,hour", "either")],
)
def test_what_is_wrong_is_said(text: str, message: str) -> None:
    with pytest.raises(click.BadParameter) as refusal:
        COLUMNS.convert(text, None, None)
    assert message in str(refusal.value)
