"""Every error code has one entry: what it means, who has to act, and whether to retry."""

import pytest

from app.api.error_codes import RETRIES, anchor, entries, error_classes
from app.server.rejection import reject
from app.vocabulary import errors
from app.vocabulary.errors import SHOULD_RETRY, TollgateError, VendorRejected, is_retried
from tests.server.sockets import connected

CODES = {entry.code for entry in entries()}


@pytest.mark.parametrize("error", list(error_classes()))
def test_each_error_has_an_entry_with_who_acts_and_whether_to_retry(
    error: type[TollgateError],
) -> None:
    entry = next(it for it in entries() if it.code == anchor(error))
    assert error.acts in entry.acts
    assert error.acts.endswith(".")
    assert entry.retry == error.retry
    assert error.retry in RETRIES
    assert error.status in entry.statuses
    assert entry.type == error.type


def test_every_class_that_is_not_only_a_base_has_an_entry() -> None:
    classes = {it for it in vars(errors).values() if isinstance(it, type)}
    leaves = {it for it in classes if issubclass(it, TollgateError) and not it.__subclasses__()}
    assert leaves <= set(error_classes())


@pytest.mark.parametrize("error", list(error_classes()))
def test_clients_are_told_not_to_retry_what_fails_again(error: type[TollgateError]) -> None:
    if issubclass(error, VendorRejected | errors.ShuttingDown):
        return  # they are made otherwise, and are not retried, or are
    headers = error("x").headers
    is_final = error.retry == "no" and is_retried(error.status)
    assert headers.get(SHOULD_RETRY) == ("false" if is_final else None)


def test_the_servers_own_rejections_have_an_entry() -> None:
    for exc in (TimeoutError(), ValueError()):
        with connected() as (server, _client):
            assert reject(server, exc) in CODES
