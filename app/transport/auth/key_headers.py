"""Vendors' API keys as request headers. No I/O."""

import base64

from app.vendors.vendor import Vendor


def key_headers(vendor: Vendor) -> dict[str, str]:
    """Return the headers with the vendor's key, in the form that its `auth` names.

    Empty if the vendor has no key.
    """
    key = vendor.api_key
    if not key:
        return {}
    if vendor.auth == "bearer":
        return {"authorization": f"Bearer {key}"}
    if vendor.auth == "basic":  # the key is the user name, and there is no password
        return {"authorization": f"Basic {base64.b64encode(f'{key}:'.encode()).decode()}"}
    return {vendor.auth: key}
