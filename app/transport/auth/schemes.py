"""Who signs requests, by a vendor's `auth`."""

from collections.abc import Mapping

from app.transport.auth.aws_credentials import AWSSigner
from app.transport.auth.google_credentials import GoogleSigner
from app.transport.auth.request_auth import Signer

SIGNERS: Mapping[str, Signer] = {"google": GoogleSigner(), "aws": AWSSigner()}
