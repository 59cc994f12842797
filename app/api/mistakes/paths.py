"""A path or a method that no route has: what there is instead."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.api.mistakes.clients import Client
from app.vocabulary.errors import MethodNotAllowed, PathNotFound
from app.vocabulary.suggestion import nearest

#: The prefix of the API's routes.
PREFIX = "/v5"

#: How much of a path is quoted and compared, in characters and in segments.
PATH_LIMIT, SEGMENTS_LIMIT = 100, 8

#: First segment after the version -> what other services have there, and Tollgate has not.
FOREIGN: Mapping[str, str] = {
    "assistants": "assistants",
    "audio": "audio endpoints",
    "batches": "batches",
    "containers": "containers",
    "conversations": "stored conversations",
    "edits": "endpoint of this name",
    "embed": "embeddings",
    "embeddings": "embeddings",
    "evals": "evaluations",
    "files": "files",
    "fine_tuning": "fine-tuning",
    "generate": "endpoint of this name",
    "images": "image generation",
    "inference": "endpoint of this name",
    "mcp": "MCP server",
    "messages": "endpoint for Anthropic's clients",
    "moderations": "moderation endpoint",
    "realtime": "realtime API",
    "rerank": "reranking",
    "responses": "Responses API",
    "threads": "threads",
    "tokenize": "tokenizer",
    "uploads": "uploads",
    "vector_stores": "vector stores",
    "videos": "video generation",
}

#: Ends of paths that other services have -> ours: of Ollama, Cohere, Bedrock, Gemini and pages.
ALIASES: Mapping[str, str] = {
    "api/chat": "/v5/chat/completions",
    "v1/chat": "/v5/chat/completions",
    "v2/chat": "/v5/chat/completions",
    "converse": "/v5/chat/completions",
    "converse-stream": "/v5/chat/completions",
    "invocations": "/v5/chat/completions",
    "invoke": "/v5/chat/completions",
    "invoke-with-response-stream": "/v5/chat/completions",
    "api/tags": "/v5/models",
    "api/ps": "/v5/models",
    "api/show": "/v5/models",
    "engines": "/v5/models",
    "costs": "/v5/organization/costs",
    "requests": "/v5/organization/requests/{any_id}",
    "usage": "/v5/organization/usage/completions",
    "admin": "/dashboard",
    "login": "/dashboard",
    "ui": "/dashboard",
    "api": "/docs",
    "api-docs": "/docs",
    "errors": "/docs/errors",
    "openapi": "/openapi.json",
    "health": "/livez",
    "healthz": "/livez",
    "live": "/livez",
    "ping": "/livez",
    "readyz": "/readyz",
    "livez": "/livez",
    "ready": "/readyz",
    "readiness": "/readyz",
    "status": "/readyz",
    "swagger": "/docs",
    "redoc": "/docs",
    "openapi.yaml": "/openapi.json",
    "swagger.json": "/openapi.json",
}


@dataclass(frozen=True, slots=True)
class Routes:
    """The routes of the application.

    `paths` are those of the API and of its description, with `{name}` for a part that varies; each
    has its methods. `methods_at` returns the methods of the route that a path leads to; () if it
    leads nowhere.
    """

    paths: Mapping[str, Sequence[str]]
    methods_at: Callable[[str], Sequence[str]]

    def doors(self) -> list[str]:
        """Return what generates text: the API's routes that take POST."""
        return [
            f"`POST {path}`"
            for path, methods in self.paths.items()
            if path.startswith(PREFIX) and "POST" in methods
        ]


def no_such_path(
    method: str, path: str, routes: Routes, origin: str, client: Client | None
) -> PathNotFound:
    """Return the error for a path without a route.

    `origin` is the scheme and the host that the caller used, such as `http://localhost:8000`.
    """
    shown = _shown(path)
    problem = f"There is no `{shown}`"
    foreign = _foreign(path)
    near = None if foreign else _near(method, path, routes)
    if near is not None:
        words = f"{problem}. Did you mean `{near[0]} {near[1]}`?"
    elif foreign is not None:
        words = f"{problem}: Tollgate has no {foreign}. It has {_listed(routes.doors())}."
        if client is not None and client.chat and foreign == FOREIGN["responses"]:
            words += f" {client.name} calls chat completions with {client.chat}."
    else:
        words = f"{problem}. Tollgate has {_listed(list(_all(method, shown, routes)))}."
    return PathNotFound(words + _base_url(path, near, origin, client) + _docs(origin))


def wrong_method(method: str, path: str, allowed: Sequence[str], origin: str) -> MethodNotAllowed:
    """Return the error for a route that takes other methods: `allowed`."""
    words = f"`{_shown(path)}` takes {_listed(sorted(allowed))}, not {_shown(method)}."
    if "POST" in allowed:
        words += " Send a JSON body."
    return MethodNotAllowed(words + _docs(origin))


def _foreign(path: str) -> str | None:
    """Return what other services have at a path, and Tollgate has not; None if it is nothing."""
    parts = [part for part in path[:PATH_LIMIT].lower().split("/") if part]
    if any(part.startswith(_STORED) for part in parts):
        return "stored completions"
    return next((FOREIGN[it] for it in parts[:3] if it in FOREIGN), None)


def _near(method: str, path: str, routes: Routes) -> tuple[str, str] | None:
    """Return the method and the path that were most likely meant."""
    for candidate in _candidates(path, routes):
        if methods := routes.methods_at(candidate):
            return (method if method in methods else sorted(methods)[-1]), candidate
    return None


def _candidates(path: str, routes: Routes) -> Iterator[str]:
    """Yield paths like `path`: without what stands before its end, then those of similar names."""
    named = [part for part in path[:PATH_LIMIT].split("/") if part][:SEGMENTS_LIMIT]
    parts = [part.lower() for part in named]
    if _GEMINI.fullmatch(parts[-1] if parts else ""):
        yield f"{PREFIX}/chat/completions"
    bare = [part for part in parts if part not in ("v1", "v5", "api")]
    if _REPEATED.intersection(bare[:-1]) and "models" not in bare:
        yield f"{PREFIX}/{'chat/' if _CHAT.intersection(bare) else ''}completions"
    for length in (2, 1):
        if found := ALIASES.get("/".join(parts[-length:])):
            yield found
    for start in range(len(parts)):
        if parts[start] in ("model", "models"):  # the case of what follows is the model's
            yield "/".join((f"{PREFIX}/models", *named[start + 1 :]))
        rest = "/".join(parts[start:])
        if not rest.startswith("v5/"):
            yield f"{PREFIX}/{rest}"
        yield f"/{rest}"
    if parts[:2] == ["docs", "errors"]:
        yield "/docs/errors"
    for prefix in (PREFIX, "") if bare else ():
        if found := nearest(f"{prefix}/{'/'.join(bare)}", routes.paths, 0.8):
            yield found


#: The last segment of Gemini's paths, such as `gemini-2.5-pro:generateContent`.
_GEMINI = re.compile(r"[^:]+:(?:stream)?generatecontent")
#: Before the last segment, they begin a path that has too much at its end, or is misspelt.
_REPEATED = frozenset({"completions", "chats"})
_CHAT = frozenset({"chat", "chats"})

#: Beginnings of the ids of answers that other services store.
_STORED = ("chatcmpl-", "cmpl-")


def _all(method: str, path: str, routes: Routes) -> Iterator[str]:
    """Yield the routes below `path`, if it begins some; or what generates text, and the models."""
    beginning = path.rstrip("/").lower() + "/"
    below = [it for it in routes.paths if it.startswith(beginning)]
    if below:
        for found in below:
            yield f"`{'` and `'.join(sorted(routes.paths[found]))} {found}`"
        return
    yield from routes.doors()
    if method != "POST" and f"{PREFIX}/models" in routes.paths:
        yield f"`GET {PREFIX}/models`"


def _base_url(path: str, near: tuple[str, str] | None, origin: str, client: Client | None) -> str:
    """Return the sentence on the base URL; empty if that cannot be what is wrong."""
    is_right = path.startswith(f"{PREFIX}/") and not path.startswith(f"{PREFIX}{PREFIX}")
    if client is not None and near is not None:  # what an official client adds is right
        is_right = is_right and not path.endswith(near[1].removeprefix(PREFIX))
    if is_right or (near is not None and not near[1].startswith(PREFIX)):
        return ""
    if client is not None:
        return f" {client.name} needs the {client.setting} `{origin}{client.suffix}`."
    return f" The API is at `{origin}{PREFIX}`."


def _docs(origin: str) -> str:
    return f" `{origin}/docs` describes every route."


def _listed(names: Sequence[str]) -> str:
    *others, last = names or ["nothing"]
    return f"{', '.join(others)} and {last}" if others else last


def _shown(text: str) -> str:
    return "".join(it if it.isprintable() and it != "`" else "?" for it in text[:PATH_LIMIT])
