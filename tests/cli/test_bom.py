"""The option `--bom`."""

import click
import pytest

from app.cli.bom import check_bom


def test_a_byte_order_mark_is_for_csv() -> None:
    check_bom("csv", bom=True)
    check_bom("json", bom=False)
    with pytest.raises(click.UsageError, match="csv only"):
        check_bom("json", bom=True)
