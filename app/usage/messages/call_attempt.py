"""CallAttempt: how one vendor call of a request went, for whoever asks why it failed. No I/O."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from app.usage.messages.message import Number, Sentence, Text
from app.usage.messages.stored_text import clip, clip_or_none, cut_or_none


class CallAttempt(Struct, frozen=True, omit_defaults=True, gc=False):
    """One vendor call of a request that failed, or of one that took several calls.

    vendor, model       what was called, which may not be what was requested
    started_ms          when it began, in milliseconds after the request's start
    http_status         the vendor's status; None if there was none
    vendor_request_id   the vendor's id of the call; None if it sent none
    error_code          Tollgate's stable code of the failure; None if the call succeeded or was
                        cancelled
    error_message       what the vendor said, or what Tollgate saw; without keys and prompts

    On the wire, fields that are null or 0 are left out.
    """

    vendor: Text
    model: Text
    started_ms: Number = 0
    duration_ms: Number = 0
    http_status: Number | None = None
    vendor_request_id: Text | None = None
    error_code: Text | None = None
    error_message: Sentence | None = None

    def sanitized(self) -> "CallAttempt":
        """Return the attempt with texts that a ledger can store."""
        return replace(
            self,
            vendor=clip(self.vendor),
            model=clip(self.model),
            vendor_request_id=clip_or_none(self.vendor_request_id),
            error_code=clip_or_none(self.error_code),
            error_message=cut_or_none(self.error_message),
        )


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(tuple[CallAttempt, ...])


def encode_attempts(attempts: Sequence[CallAttempt]) -> str | None:
    """Return attempts as a JSON array, as the ledger stores them; None if there are none."""
    return _encoder.encode(attempts).decode() if attempts else None


def decode_attempts(raw: str | None) -> tuple[CallAttempt, ...]:
    """Return the attempts that `encode_attempts` wrote, in this version or another."""
    return _decoder.decode(raw) if raw else ()
