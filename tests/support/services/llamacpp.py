"""A real llama.cpp server, from the wheel `xllamacpp`, with a model that the tests make.

Run as a program it is the server's process, which ends when its standard input does: no test that
is killed leaves one behind.
"""

import http.client
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from app.settings import ROOT
from tests.support.services.polling import wait_until
from tests.support.services.ports import lasting_port
from tests.support.services.tiny_model import CONTEXT_TOKENS, write_tiny_model

#: How many requests it answers at a time, and what each of them has of the context.
SLOTS = 2
SLOT_TOKENS = CONTEXT_TOKENS // SLOTS

#: What it calls its model.
MODEL = "tiny"


_COUNTER = re.compile(r"^llamacpp:(\w+_total) (\d+)$", re.MULTILINE)


class LlamaCpp:
    """One server on a free port of the loopback interface; it keeps its port when restarted.

    `directory` holds its model and its log. `shared`: one context for all its slots, in which two
    requests can leave each other no room.
    """

    def __init__(self, directory: Path, *, shared: bool = False) -> None:
        self._arguments = ["shared"] if shared else []
        self._log = directory / "llamacpp.log"
        self._model = directory / "tiny.gguf"
        self._port = lasting_port()
        self._process: subprocess.Popen[str] | None = None
        write_tiny_model(self._model)

    @property
    def url(self) -> str:
        """The address, as LLAMACPP_BASE_URL spells it."""
        return f"http://127.0.0.1:{self._port}/v1"

    def start(self) -> "LlamaCpp":
        """Start the server and wait until it answers."""
        program = [sys.executable, "-m", "tests.support.services.llamacpp"]
        with self._log.open("ab") as log:
            self._process = process = subprocess.Popen(
                [*program, str(self._model), str(self._port), *self._arguments],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                text=True,
            )
        wait_until(lambda: process.poll() is not None or self._answers())
        if process.poll() is not None:
            raise RuntimeError(self._log.read_text(errors="replace"))
        return self

    def _answers(self) -> bool:
        try:
            return b'"ok"' in self._asked("GET", "/health")
        except OSError:
            return False

    def kill(self) -> None:
        """Stop the server as a crash would; it may be started again, and keeps nothing."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def ask(self, path: str, body: Any) -> bytes:
        """Return the answer to a request below /v1, byte for byte; of a stream, its events."""
        return self._asked("POST", f"/v1{path}", json.dumps(body))

    @property
    def busy(self) -> int:
        """How many requests it is answering."""
        return sum(slot["is_processing"] for slot in json.loads(self._asked("GET", "/slots")))

    @property
    def worked(self) -> tuple[int, int]:
        """How many tokens of prompts it has read since its start, and how many it has written.

        What a request used is counted when it ends, however it ends.
        """
        told = self._asked("GET", "/metrics").decode()
        counted = {name: int(count) for name, count in _COUNTER.findall(told)}
        read = counted["prompt_tokens_total"] + counted["prompt_tokens_cached_total"]
        return read, counted["tokens_predicted_total"]

    def _asked(self, method: str, path: str, body: str | None = None) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request(method, path, body)
            return connection.getresponse().read()
        finally:
            connection.close()


def main(model: str, port: str, *shared: str) -> None:
    """Serve a model until standard input ends."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {MODEL}
    params.port = int(port)
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = SLOTS
    params.kv_unified = bool(shared)
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.fit_params = params.warmup = False
    params.cache_prompt = False  # unless asked for: so that the same request has the same usage
    params.cache_ram_mib = 0
    params.endpoint_metrics = True
    server = xllamacpp.Server(params)
    sys.stdin.read()
    del server


if __name__ == "__main__":
    main(*sys.argv[1:])
