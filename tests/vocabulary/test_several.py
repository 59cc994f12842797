"""Several faults as one error."""

import pytest

from app.vocabulary.errors import InvalidRequest, together
from app.vocabulary.errors.several import Faults


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
