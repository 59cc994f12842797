"""Which credentials authenticate which `auth` of a vendor's entry."""

from app.transport.auth.aws_credentials import AWSAuth
from app.transport.auth.google_credentials import GoogleAuth
from app.transport.auth.schemes import CLOUDS
from app.vendors.vendor import AUTH_HEADERS, SIGNED


def test_each_cloud_has_its_credentials_and_keys_in_headers_need_none() -> None:
    assert set(CLOUDS) == set(SIGNED)
    assert not set(CLOUDS) & set(AUTH_HEADERS)
    assert isinstance(CLOUDS["aws"], AWSAuth)
    assert isinstance(CLOUDS["google"], GoogleAuth)
