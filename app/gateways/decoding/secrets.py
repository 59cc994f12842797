"""Replaces keys, passwords and tokens in what vendors say. No I/O."""

import re
from typing import Any

from app.gateways.decoding.choices.texts import sanitized
from app.vendors.vendor import Vendor

#: What replaces a secret.
HIDDEN = "***"

#: Maximum length of a vendor's text that is passed on, in characters.
MESSAGE_LIMIT = 1000

#: `kept` is what stays in front of a secret. Looking ahead is bounded, so that the time grows only
#: with the text's length, whoever wrote it.
_SECRET = re.compile(
    r"""
    # OpenAI, and vendors that follow it; Perplexity, GitHub, GitLab, Google's client secrets
    \b(?i:sk|gsk|xai|nvapi|pplx|sess|gh[oprsu]|github_pat|glpat|gocspx)[-_][\w*.-]{6,}
    # ordinary words begin like that, too
    | \b(?i:fw|hf|key|pk|r8|rk|tg)[-_](?=\w*[\d*])[\w*.-]{6,}
    | \bAIza[\w*-]{8,} | \bya29\.[\w-]{8,} | \bA[KS]IA[A-Z0-9*]{8,}    # Google, AWS
    | \bdapi[0-9a-f]{16,}                                               # Databricks
    | \beyJ[\w-]{8,512}\.[\w.-]+                                         # a JSON web token
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----(?s:.*?)(?:-----END[A-Z -]*-----|\Z)
    # a URL's user and password
    | (?P<kept>
        ://(?=[^\s/?\#"'<>]{1,512}@)
        | \b(?i:bearer)\s+(?=[\w.~+/*-]{6,})
        | \b(?i:basic)\s+(?=[\w+/]{,256}[A-Z\d=])(?=[\w+/=*-]{8,})
        # in URLs, forms and texts: key=…; elsewhere, what has letters and digits: "api_key": "…"
        | [?&]key=
        | (?i:api[-_ ]?key|[-_]key|secret|passw(?:or)?d|pwd|token|signature)["']?\s*=\s*["']?
        | (?i:\bkey|[-_]key|apikey|secret|passw(?:or)?d|pwd|token|key[ ]provided)["']?\s*:\s*["']?
          (?=[^\s"',;&]{,256}\d)(?=[^\s"',;&]{,256}[A-Za-z])(?=[^\s"',;&]{8})
      )
      (?:(?<=://)[^\s/?\#"'<>]+(?=@) | (?<!://)[^\s"',;&]+)
    """,
    re.VERBOSE,
)


def hide_secrets(text: str) -> str:
    """Return the text with everything that looks like a secret replaced by HIDDEN."""
    return _SECRET.sub(lambda found: f"{found['kept'] or ''}{HIDDEN}", text)


#: How much of a text is searched for keys, in characters: far more than is passed on.
SCRUBBED_LIMIT = 16 * MESSAGE_LIMIT

#: Shorter keys are not secrets but words ("EMPTY", "none"), as for servers without keys.
SECRET_LENGTH = 8


def scrubbed(vendor: Vendor, message: str | None, limit: int = MESSAGE_LIMIT) -> str | None:
    """Return a vendor's text, at most `limit` characters, with everything like a key replaced."""
    if message is None:
        return None
    message = str(without_own_secrets(vendor, sanitized(message[:SCRUBBED_LIMIT])))
    return hide_secrets(message)[:limit]


def without_own_secrets(vendor: Vendor, value: Any) -> Any:
    """Return a value of a vendor's JSON, whole, with what we send the vendor as secrets replaced.

    A model's text stays as it is, even where it looks like a key.
    """
    if isinstance(value, dict):
        return {
            without_own_secrets(vendor, name): without_own_secrets(vendor, it)
            for name, it in value.items()
        }
    if isinstance(value, list):
        return [without_own_secrets(vendor, it) for it in value]
    if isinstance(value, str):
        for secret in (vendor.api_key, *vendor.headers.values()):
            if secret and len(secret) >= SECRET_LENGTH:
                value = value.replace(secret, HIDDEN)
    return value
