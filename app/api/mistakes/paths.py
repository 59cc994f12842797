"""A path or a method that no route has: what there is instead."""

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
    "conversations": "stored conversations",
    "embeddings": "embeddings",
    "files": "files",
    "fine_tuning": "fine-tuning",
    "generate": "endpoint of this name",
    "images": "image generation",
    "inference": "endpoint of this name",
    "messages": "endpoint for Anthropic's clients",
    "moderations": "moderation endpoint",
    "realtime": "realtime API",
    "rerank": "reranking",
    "responses": "Responses API",
    "threads": "threads",
    "uploads": "uploads",
    "vector_stores": "vector stores",
    "videos": "video generation",
}

#: Paths that other services have -> ours.
ALIASES: Mapping[str, str] = {
    "health": "/livez",
    "healthz": "/livez",
    "live": "/livez",
    "ping": "/livez",
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
    beyond = _segments(path)
    foreign = next((FOREIGN[it] for it in beyond[:3] if it in FOREIGN), None)
    near = None if foreign else _near(method, path, routes)
    if near is not None:
        words = f"{problem}. Did you mean `{near[0]} {near[1]}`?"
    elif foreign is not None:
        words = f"{problem}: Tollgate has no {foreign}. It has {_listed(routes.doors())}."
    else:
        words = f"{problem}. Tollgate has {_listed(list(_all(shown, routes)))}."
    return PathNotFound(words + _base_url(path, near, origin, client) + _docs(origin))


def wrong_method(method: str, path: str, allowed: Sequence[str], origin: str) -> MethodNotAllowed:
    """Return the error for a route that takes other methods: `allowed`."""
    words = f"`{_shown(path)}` takes {_listed(sorted(allowed))}, not {_shown(method)}."
    if "POST" in allowed:
        words += " Send a JSON body."
    return MethodNotAllowed(words + _docs(origin))


def _near(method: str, path: str, routes: Routes) -> tuple[str, str] | None:
    """Return the method and the path that were most likely meant."""
    for candidate in _candidates(path, routes):
        if methods := routes.methods_at(candidate):
            return (method if method in methods else sorted(methods)[-1]), candidate
    return None


def _candidates(path: str, routes: Routes) -> Iterator[str]:
    """Yield paths like `path`: without what stands before its end, then those of similar names."""
    parts = _segments(path)
    if parts and parts[-1] in ALIASES:
        yield ALIASES[parts[-1]]
    for start in range(len(parts)):
        rest = "/".join(parts[start:])
        if not rest.startswith("v5/"):
            yield f"{PREFIX}/{rest}"
        yield f"/{rest}"
    bare = [part for part in parts if part not in ("v1", "v5", "api")]
    if bare and (found := nearest(f"{PREFIX}/{'/'.join(bare)}", routes.paths, 0.8)):
        yield found


def _segments(path: str) -> list[str]:
    parts = [part for part in path[:PATH_LIMIT].lower().split("/") if part]
    return parts[:SEGMENTS_LIMIT]


def _all(path: str, routes: Routes) -> Iterator[str]:
    """Yield the routes below `path`, if it is the beginning of some, or all of the API."""
    below = [it for it in routes.paths if it.startswith(path.rstrip("/").lower() + "/")]
    for found in below or [it for it in routes.paths if it.startswith(PREFIX)]:
        yield f"`{'` and `'.join(sorted(routes.paths[found]))} {found}`"


def _base_url(path: str, near: tuple[str, str] | None, origin: str, client: Client | None) -> str:
    """Return the sentence on the base URL; empty if that cannot be what is wrong."""
    is_right = path.startswith(f"{PREFIX}/") and not path.startswith(f"{PREFIX}{PREFIX}")
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
