"""What a vendor's rejection shows of a model."""

import pytest

from app.serving.rejections import rejects_samples, wanted_limit
from app.vocabulary.errors import VendorRejected
from tests.serving.engine import asked, entry

VENDOR = entry("first", "http://127.0.0.1:1/v1")


def rejected(message: str = "no", status: int = 400, param: str | None = None) -> VendorRejected:
    return VendorRejected(message, vendor_status=status, param=param)


@pytest.mark.parametrize(
    ("error", "limit", "name"),
    [
        (rejected("Use 'max_completion_tokens' instead"), 5, "max_completion_tokens"),
        (rejected("Use 'max_completion_tokens' instead"), None, None),
        (rejected("no", param="max_completion_tokens", status=422), 5, "max_completion_tokens"),
        (rejected("Use 'max_completion_tokens' instead", status=404), 5, None),
        (rejected("`max_tokens` is too large"), 5, None),
    ],
)
def test_a_vendor_may_ask_for_the_other_name_of_the_limit(
    error: VendorRejected, limit: int | None, name: str | None
) -> None:
    assert wanted_limit(VENDOR, asked(max_tokens=limit), error) == name


@pytest.mark.parametrize(
    ("error", "is_about"),
    [
        (rejected("n must be 1"), True),
        (rejected(param="n", status=404), False),
        (rejected("the prompt must be shorter"), False),
    ],
)
def test_a_vendor_may_make_one_sample_a_call(error: VendorRejected, is_about: bool) -> None:
    assert rejects_samples(error) is is_about
