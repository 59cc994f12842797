"""The forms of a list of requests, for names that would break a line or run as a formula."""

import csv
import dataclasses
import io
import json
from typing import Any

import pytest

from app.cli.request_forms import FORMS
from app.ledger.reports.recent import Request
from tests.support.events import usage_event

USER = 'a,"b"\n=1+1'


def request() -> Request:
    """Return a request of a user with an odd name."""
    event = usage_event(user=USER, model="=sum(1,2)")
    fields = (it.name for it in dataclasses.fields(Request))
    values: dict[str, Any] = {name: getattr(event, name, None) for name in fields}
    return Request(**values)


def test_each_form_has_the_request(capsys: pytest.CaptureFixture[str]) -> None:
    FORMS["csv"]([request()], False)
    [row] = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["user"], row["model"], row["cost_usd"]) == (USER, "'=sum(1,2)", "")
    FORMS["json"]([request()], False)
    [found] = json.loads(capsys.readouterr().out)
    assert (found["user"], found["model"], found["cost_usd"]) == (USER, "=sum(1,2)", None)
    FORMS["table"]([request()], False)
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_a_table_without_requests_is_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    FORMS["table"]([], False)
    assert capsys.readouterr().out == ""
