"""Requests as clients really send them, byte for byte, to every format of a vendor.

Each file of `recorded/` is the body of one request, with MODEL as the model's name. The clients put
more into it than their users ask for: names of agents, bounds, `strict`, settings that change
nothing. None of it may end the request.
"""

from pathlib import Path

import pytest
import requests

from tests.contract.clients.backends import Backend
from tests.contract.clients.scenes import OBJECT
from tests.support.gateway import Gateway

RECORDED = Path(__file__).parent / "recorded"
FILES = sorted(path.stem for path in RECORDED.glob("*.json"))

#: What a body holds that some vendors have no place for -> those vendors, as a file names it.
_CONVERTED = frozenset({"anthropic", "bedrock", "cohere", "gemini", "vertex_ai"})
_STRICT = frozenset({"anthropic", "bedrock"})
LEFT_OUT = {
    "ai_sdk_object": ("maximum, minimum", _STRICT),
    "autogen_agent": ("name", _CONVERTED),
    "langchain_js_agent": ("name", _CONVERTED),
    "semantic_kernel_agent": ("name", _CONVERTED),
}


def sent(gateway: Gateway, body: bytes) -> requests.Response:
    """Send a body as it is."""
    headers = {"authorization": f"Bearer {gateway.api_key}", "content-type": "application/json"}
    door = "completions" if b'"prompt"' in body else "chat/completions"
    url = f"{gateway.base_url}/{door}"
    return requests.post(url, data=body, headers=headers, timeout=30)


def recorded(name: str, model: str, *, streamed: bool) -> bytes:
    """Return a body for a model: as it is, or streamed if it is not, or the other way round."""
    body = (RECORDED / f"{name}.json").read_bytes().replace(b"MODEL", model.encode())
    if streamed:
        return body.replace(b'"stream":false', b'"stream":true')
    for usage in (
        b'"stream_options":{"include_usage":true},',
        b',"stream_options":{"include_usage":true}',
    ):
        body = body.replace(usage, b"")
    return body.replace(b'"stream":true', b'"stream":false')


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", FILES)
def test_a_request_of_a_client_is_taken_as_it_is(
    backend: Backend, name: str, streamed: bool
) -> None:
    backend.says(OBJECT)
    model = backend.model.partition("?")[0]
    answer = sent(backend.gateway, recorded(name, model, streamed=streamed))
    assert answer.status_code == 200, answer.text
    assert backend.gateway.event().status == "completed"
    names, vendors = LEFT_OUT.get(name, ("", frozenset()))
    told = answer.headers.get("x-tollgate-dropped", "")
    assert ", ".join(sorted(told.split(", "))) == (names if backend.name in vendors else "")
