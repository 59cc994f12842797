"""What a form's problems are."""

import pytest
from werkzeug.datastructures import MultiDict

from app.accounts.errors import AccountsError
from app.dashboard.admin.action import Problems, required, with_defaults


def test_the_first_problem_of_each_field_is_kept() -> None:
    problems = Problems()
    problems.check()
    for message in ("first", "second"):
        with problems.of("name"):
            raise AccountsError(message)
    with problems.of("other"):
        pass
    with pytest.raises(Problems) as raised:
        problems.check()
    assert raised.value.by_field == {"name": "first"}


def test_a_required_field_has_more_than_spaces() -> None:
    assert required(MultiDict({"name": " a "}), "name", "a name") == "a"
    with pytest.raises(AccountsError, match="Enter a name"):
        required(MultiDict({"name": " "}), "name", "a name")


def test_defaults_do_not_replace_what_is_given() -> None:
    given = MultiDict({"name": "", "other": "x"})
    assert with_defaults(given, {"name": "n", "more": "m"}).to_dict() == {
        "name": "",
        "other": "x",
        "more": "m",
    }
