"""Several faults as one error."""

import pytest

from app.vocabulary.errors import InvalidRequest, together
from app.vocabulary.errors.several import Faults, renamed


def test_one_fault_is_left_as_it_is() -> None:
    fault = InvalidRequest("No.", param="n")
    assert together([fault]) is fault
    assert fault.body()["error"].keys() == {"message", "type", "param", "code"}


def test_several_faults_are_stated_and_listed() -> None:
    faults = [InvalidRequest(f"No {at}.", param=f"p{at}", code=f"c{at}") for at in range(7)]
    error = together(faults)
    assert (error.param, error.code) == ("p0", "c0")
    assert str(error) == "No 0. Also: No 1. No 2. No 3. No 4. And 2 more."
    details = error.body()["error"]["details"]
    assert details[6] == {"message": "No 6.", "param": "p6", "code": "c6"}
    assert details[0]["message"] == "No 0."


def test_a_fault_may_be_several_itself() -> None:
    inner = together([InvalidRequest("A.", param="a"), InvalidRequest("B.", param="b")])
    error = together([inner, InvalidRequest("C.", param="c")])
    assert str(error) == "A. Also: B. C."
    assert [it["param"] for it in error.body()["error"]["details"]] == ["a", "b", "c"]


def test_faults_that_say_the_same_by_other_names_are_one() -> None:
    def faults(*names: str) -> InvalidRequest:
        return together([InvalidRequest(f"No `{it}`.", param=it, code="c") for it in names])

    error = renamed(faults("a", "a2", "b"), lambda name: name[0])
    assert str(error) == error.message == "No `a`. Also: No `b`."
    assert [it["param"] for it in error.details] == ["a", "b"]
    error = renamed(faults("a", "a2"), lambda name: name[0])
    assert error.body()["error"].keys() == {"message", "type", "param", "code"}
    assert (str(error), error.param) == ("No `a`.", "a")


def test_one_fault_gets_its_other_name() -> None:
    error = renamed(InvalidRequest("No `a2`.", param="a2"), lambda name: name[0])
    assert (str(error), error.param) == ("No `a`.", "a")
    assert renamed(InvalidRequest("No."), lambda name: name[0]).param is None


def test_checks_that_do_not_depend_on_each_other_are_all_made() -> None:
    def refused() -> int:
        raise InvalidRequest("No.", param="n")

    faults = Faults(InvalidRequest("First.", param="f"))
    assert faults.of(lambda: 5) == 5
    assert faults.of(refused) is None
    with pytest.raises(InvalidRequest, match=r"First\. Also: No\.") as caught:
        faults.raise_any()
    assert caught.value.param == "f"
    Faults().raise_any()
