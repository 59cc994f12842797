"""Who signs requests, by a vendor's `auth`."""

from collections.abc import Mapping

from app.gateways.aws_sign_in import AWSSigner
from app.gateways.google_sign_in import GoogleSigner
from app.gateways.signing import Signer

SIGNERS: Mapping[str, Signer] = {"google": GoogleSigner(), "aws": AWSSigner()}
