"""Why a vendor's response could not be read: each kind has its own message for the caller.

They are requests' errors, so that code that expects requests' own adapter catches them.
"""

import requests


class BrokenResponse(requests.ConnectionError):
    """The response could not be read whole. `str(error)` completes "The vendor ...".

    `status` is the response's HTTP status, if its status line could be read.
    """

    status: int | None = None


class EndedEarly(BrokenResponse):
    """The connection ended before the response did."""


class BadHTTP(BrokenResponse):
    """The response is not valid HTTP, and its meaning is ambiguous."""


class BadCoding(BrokenResponse):
    """The body does not have the content coding that its headers name, or has an unknown one."""
