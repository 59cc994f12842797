"""The peers: other gateways that `make bench-peers` has installed, with production settings.

One process each, without debugging or logs. With these settings, neither records usage.
"""

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from app.devstack.children import Children
from app.devstack.stack import free_port
from app.settings import ROOT
from bench.procs import wait_for_rest
from bench.starting import first_response_s, start
from bench.target import Target

FOLDER = ROOT / ".venv-peers"
LITELLM = FOLDER / "litellm" / "bin" / "litellm"
PORTKEY = FOLDER / "portkey" / "node_modules" / "@portkey-ai" / "gateway"
_PORTKEY_SERVER = PORTKEY / "build" / "start-server.js"
_KEY = "sk-bench"
#: LiteLLM asks for chat by another entry than for completions.
_LITELLM_CHAT = "chat/"


@dataclass(frozen=True, slots=True)
class Peer:
    """The command of a peer, and how to call it."""

    name: str
    port: int
    installed: Path
    command: Sequence[str]
    env: Mapping[str, str]
    headers: Mapping[str, str]
    chat_prefix: str | None = None


def peers(vendor_port: int, folder: Path) -> list[Peer]:
    """Return the installed peers; their settings are written to `folder`."""
    vendor_url = f"http://127.0.0.1:{vendor_port}/v1"
    return [_portkey(vendor_url, free_port()), _litellm(vendor_url, free_port(), folder)]


def _portkey(vendor_url: str, port: int) -> Peer:
    return Peer(
        "Portkey",
        port,
        _PORTKEY_SERVER,
        ["node", str(_PORTKEY_SERVER), f"--port={port}", "--headless"],
        {"NODE_ENV": "production"},
        {
            "authorization": f"Bearer {_KEY}",
            "x-portkey-provider": "openai",
            "x-portkey-custom-host": vendor_url,
        },
    )


def _litellm(vendor_url: str, port: int, folder: Path) -> Peer:
    settings = folder / "litellm.yaml"
    settings.write_text(json.dumps(_litellm_settings(vendor_url)))  # JSON is YAML
    return Peer(
        "LiteLLM",
        port,
        LITELLM,
        [str(LITELLM), "--config", str(settings), "--port", str(port), "--num_workers", "1"],
        {
            "LITELLM_MODE": "PRODUCTION",
            "LITELLM_LOG": "ERROR",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "DISABLE_ADMIN_UI": "True",
        },
        {"authorization": f"Bearer {_KEY}"},
        _LITELLM_CHAT,
    )


def start_peer(peer: Peer, log_dir: Path, cores: set[int]) -> tuple[Children, Target, float]:
    """Start a peer; return it and the time to its first response. The caller leaves the context.

    Raises: ChildFailed, NotReady.
    """
    children = Children(log_dir, {**os.environ, **peer.env}).__enter__()
    try:
        started_s = time.monotonic()
        pid = start(children, peer.name, peer.command, cores)
        target = Target(
            name=peer.name,
            port=peer.port,
            path="/v1/completions",
            pid=pid,
            headers=peer.headers,
            chat_prefix=peer.chat_prefix,
            settle=partial(wait_for_rest, pid),
        )
        return children, target, first_response_s(children, target, started_s)
    except BaseException:
        children.stop()
        raise


def _litellm_settings(vendor_url: str) -> dict[str, object]:
    entries = {"*": "text-completion-openai/*", f"{_LITELLM_CHAT}*": "openai/*"}
    listed = [
        {
            "model_name": name,
            "litellm_params": {"model": model, "api_base": vendor_url, "api_key": _KEY},
        }
        for name, model in entries.items()
    ]
    return {
        "model_list": listed,
        "litellm_settings": {"set_verbose": False, "telemetry": False, "num_retries": 0},
        "general_settings": {"master_key": _KEY},
    }
