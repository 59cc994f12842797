"""Replaces keys, passwords and tokens in what vendors say. No I/O."""

import re

#: What replaces a secret.
HIDDEN = "***"

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
