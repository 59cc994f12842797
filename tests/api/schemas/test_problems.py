"""Marshmallow's errors as one error of the API."""

from collections.abc import Iterable

import pytest
from marshmallow import ValidationError

from app.api.schemas import problems
from app.api.schemas.fields import MISSING, TYPE, UNKNOWN, VALUE, Problem
from app.api.schemas.problems import first_problem
from app.vocabulary.errors import LISTED_LIMIT
from app.vocabulary.suggestion import did_you_mean


def test_a_path_leads_to_the_faulty_value() -> None:
    deep = ValidationError({"stop": {2: [Problem(TYPE, "must be a string")]}})
    error = first_problem(deep)
    assert (error.param, error.code) == ("stop[2]", TYPE)
    assert error.message == "`stop[2]` must be a string."
    assert error.details == ()


def test_all_faults_are_listed_and_the_first_one_is_the_errors_own() -> None:
    several = ValidationError(
        {
            "model": [Problem(MISSING, "is required")],
            "n": [Problem(VALUE, "must be from 1 to 128")],
            "logit_bias": {"x": [Problem(TYPE, "must be a number")]},
        }
    )
    error = first_problem(several)
    assert (error.param, error.code, type(error).code) == ("model", MISSING, MISSING)
    assert [it["param"] for it in error.details] == ["model", "n", "logit_bias.x"]
    assert error.message == (
        "`model` is required. Also: `n` must be from 1 to 128. `logit_bias.x` must be a number."
    )


def test_very_many_faults_are_counted_and_long_names_are_cut() -> None:
    many = ValidationError({"x" * 200 + str(at): [Problem(VALUE, "no")] for at in range(100)})
    error = first_problem(many)
    assert len(error.details) == 20
    assert error.message.endswith("And 95 more.")
    assert len(error.message) < 1000


def test_unknown_parameters_come_last_sorted_with_the_name_that_was_meant() -> None:
    found = {
        "zebra": [Problem(UNKNOWN, "is unknown")],
        "start_tiem": [Problem(UNKNOWN, "is unknown")],
        "limit": [Problem(VALUE, "is wrong")],
    }
    error = first_problem(ValidationError(found), ["start_time", "limit"])
    assert error.message == (
        "`limit` is wrong. Also: `start_tiem` is unknown. Did you mean `start_time`? "
        "`zebra` is unknown."
    )


def test_only_the_names_that_are_listed_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def counted(name: str, known: Iterable[str]) -> str:
        compared.extend(known)
        return did_you_mean(name, known)

    monkeypatch.setattr(problems, "did_you_mean", counted)
    found = {f"limt{at:04}": [Problem(UNKNOWN, "is unknown")] for at in range(2_000)}
    error = first_problem(ValidationError(found), ["limit"])
    assert error.param == "limt0000"
    assert "And 1995 more." in error.message
    assert len(compared) == LISTED_LIMIT
