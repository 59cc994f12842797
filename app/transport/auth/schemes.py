"""How requests are authenticated, by a vendor's `auth`: by a key in a header, or by a cloud."""

from collections.abc import Mapping

from app.transport.auth.aws_credentials import AWSAuth
from app.transport.auth.google_credentials import GoogleAuth
from app.transport.auth.key_headers import key_headers
from app.transport.auth.request_auth import RequestAuth
from app.vendors.vendor import Vendor
from app.vocabulary.vendor_request import VendorRequest

CLOUDS: Mapping[str, RequestAuth] = {"google": GoogleAuth(), "aws": AWSAuth()}


def authenticated(vendor: Vendor, request: VendorRequest) -> Mapping[str, str]:
    """Return a request's headers with the vendor's credentials.

    Headers that the vendor's entry sets override those made of its key.
    Raises: as `RequestAuth.headers`.
    """
    cloud = CLOUDS.get(vendor.auth)
    if cloud is not None:
        return cloud.headers(vendor, request)
    return {**key_headers(vendor), **request.headers}
