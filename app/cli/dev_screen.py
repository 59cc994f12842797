"""The last screen of `tollgate dev`: what to paste, and where to look."""

import json
import shlex
import sys
from pathlib import Path

from app.devstack.running import CLIENT_VARIABLES, exports

MODEL = "sandbox/echo"
TEXT = "Each word of this answer is a token."

_SCREEN = """Tollgate is ready. Paste this into another terminal, to stream a chat as text:

{pasted}
{python} -m pip install --quiet openai
{python} - <<'END'
from openai import OpenAI
stream = OpenAI().chat.completions.create(
    model="{model}?delay_ms=100", messages={messages}, stream=True)
for chunk in stream:
    for choice in chunk.choices:
        print(choice.delta.content or "", end="", flush=True)
print()
END

The same without Python, as server-sent events:

curl -N "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{{"model": "{model}", "messages": {messages}, "stream": true}}'

  API reference   {base_url}/docs
  Dashboard       {base_url}/dashboard (sign in with the key above)
  Try a failure   the model {model}?status=429
  Other commands  . {dev_env} && {tollgate} usage
"""


def variables_of_clients(base_url: str, key: str) -> dict[str, str]:
    """Return the variables that OpenAI's clients read, for a gateway at `base_url`."""
    return dict(zip(CLIENT_VARIABLES, (f"{base_url}/v5", key), strict=True))


def screen(base_url: str, key: str, dev_env: Path) -> str:
    """Return the screen's text. All that it says to paste works in any directory."""
    python = Path(sys.executable)
    return _SCREEN.format(
        base_url=base_url,
        dev_env=shlex.quote(str(dev_env)),
        messages=json.dumps([{"role": "user", "content": TEXT}]),
        model=MODEL,
        pasted="\n".join(exports(variables_of_clients(base_url, key))),
        python=shlex.quote(str(python)),
        tollgate=shlex.quote(str(python.with_name("tollgate"))),
    )
