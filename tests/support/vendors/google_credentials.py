"""Google's OAuth token endpoint, and a service account that it knows."""

import base64
import http.server
import json
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
EMAIL = "tollgate@acme.iam.gserviceaccount.com"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"

Answer = tuple[int, Any]


class TokenEndpoint:
    """Gives access tokens for the service account's signed assertions.

    `answers` are given first, in order; then `default(number of the request)`.
    """

    def __init__(self) -> None:
        self.asked = 0
        self.answers: deque[Answer] = deque()
        self.default: Callable[[int], Answer] = lambda _: token("sk-test")
        self.may_answer = threading.Event()
        self.may_answer.set()
        self._lock = threading.Lock()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/token"
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()

    def stop(self) -> None:
        """Refuse further connections."""
        self._server.shutdown()
        self._server.server_close()

    @cached_property
    def _key(self) -> rsa.RSAPrivateKey:
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def write_key(self, path: Path) -> Path:
        """Write the service account's key file, as Google's console gives it."""
        pem = self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        account = {
            "type": "service_account",
            "project_id": "acme",
            "private_key_id": "k1",
            "private_key": pem.decode(),
            "client_email": EMAIL,
            "client_id": "1",
            "token_uri": self.url,
        }
        path.write_text(json.dumps(account))
        return path

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
                status, body = endpoint._answer(form)
                text = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler

    def _answer(self, form: dict[str, list[str]]) -> Answer:
        with self._lock:
            self.asked += 1
            number = self.asked
            scripted = self.answers.popleft() if self.answers else None
        self.may_answer.wait(60)
        if form.get("grant_type") != [GRANT] or not self._vouched_for(form["assertion"][0]):
            return 400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}
        return scripted or self.default(number)

    def _vouched_for(self, assertion: str) -> bool:
        """Verify a signed assertion; raises InvalidSignature, which no test expects."""
        signed, _, signature = assertion.rpartition(".")
        self._key.public_key().verify(
            _decoded(signature), signed.encode(), padding.PKCS1v15(), hashes.SHA256()
        )
        claims = json.loads(_decoded(signed.partition(".")[2]))
        right = {"iss": EMAIL, "aud": "https://oauth2.googleapis.com/token", "scope": SCOPE}
        return bool(right.items() <= claims.items() and claims["exp"] > time.time())


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def token(access_token: str, lifetime_s: int = 3600) -> Answer:
    """Return the answer that gives a token."""
    body = {"access_token": access_token, "expires_in": lifetime_s, "token_type": "Bearer"}
    return 200, body
