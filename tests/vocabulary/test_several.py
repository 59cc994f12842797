"""Several faults as one error."""

from app.vocabulary.errors import InvalidRequest, together


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
