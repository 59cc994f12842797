"""Chooses a case by a seed: a vendor entry, a request, and compatible deviations."""

import re
from collections.abc import Sequence
from functools import cache
from random import Random

from app.gateways.families import GATEWAY_SPECS, GATEWAYS
from app.serving.routing import Router
from app.vendors.table import load_vendors
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import UnsupportedParameter
from app.vocabulary.vendor_request import VendorRequest
from tests.contract.table import KEY, entries, variables
from tests.contract.wild.case import Case
from tests.contract.wild.deviations import Deviation
from tests.contract.wild.deviations.table import DEVIATIONS
from tests.contract.wild.wires.rows import SPEAKERS

#: What is said comes before how it is framed, and the end comes last.
ORDER = (
    *("texts", "counts", "finish", "indices", "errors", "refusals"),
    *("frames", "labels", "cuts", "ends"),
)

#: How many requests ask for log probabilities.
LOGPROBS = 0.15

#: How many callers of streams hang up.
LEAVING = 0.04

#: Most deviations of one answer, and how likely one, two or three are.
COUNTS = (1, 1, 2, 2, 3)


def deal(seed: int, row: str = "", only: str = "", but: str = "") -> Case:
    """Return the case of a seed.

    `row` names the row; `only` is a pattern of names, and one deviation that it matches is dealt;
    none that `but` matches is.
    Raises: ValueError when nothing fits the row.
    """
    # A row's seeds are its own, so that the rows of a run do not all meet the same.
    rng = Random(f"{row} {seed}" if row else seed)  # noqa: S311 - a dealer has no secrets
    for _ in range(1000):
        case = _request(rng, seed, row)
        fitting = [deviation for deviation in DEVIATIONS if fits(case, deviation)]
        if only:
            fitting = [deviation for deviation in fitting if re.search(only, deviation.name)]
        if but:
            fitting = [deviation for deviation in fitting if not re.search(but, deviation.name)]
        if fitting:
            case.deviations = _chosen(rng, fitting, 1 if only else rng.choice(COUNTS))
            if case.parts > 1 and any(deviation.breaks for deviation in case.deviations):
                case.fails_at = rng.randrange(case.parts)
            case.leaves = case.stream and not only and rng.random() < LEAVING
            return case
    raise ValueError(f"no deviation {only!r} fits {row or 'any row'}")


def plain(seed: int, row: str) -> Case:
    """Return a case without deviations."""
    return _request(Random(seed), seed, row)  # noqa: S311 - a dealer has no secrets


def _request(rng: Random, seed: int, row: str) -> Case:
    row = row or rng.choice(sorted(SPEAKERS))
    n, prompts = rng.choice(((1, 1), (1, 1), (3, 1), (2, 1), (4, 1), (1, 3), (2, 2)))
    stream = rng.random() < 0.65
    include_usage = stream and rng.random() < 0.5
    case = Case(seed, row, stream, n, [chr(65 + at) for at in range(prompts)], include_usage)
    if rng.random() < LOGPROBS:
        case.logprobs = True
        case.logprobs = _takes(case)
    case.parts = len(vendor_requests(case))
    return case


def _takes(case: Case) -> bool:
    """Whether the entry's vendor accepts the request."""
    try:
        vendor_requests(case)
    except UnsupportedParameter:
        return False
    return True


def vendor_requests(case: Case) -> list[VendorRequest]:
    """Return the vendor requests of a case."""
    request = CompletionRequest(**case.request())
    (deployment, *_) = _router().candidates(request)
    plan = _router().plan(deployment, request)
    return [plan.encoded(part) for part in plan.sub_requests]


@cache
def _router() -> Router:
    keys = {row["api_key_env"]: KEY for row in entries().values() if "api_key_env" in row}
    return Router(load_vendors(None, {**variables(), **keys}, GATEWAY_SPECS), GATEWAYS)


def fits(case: Case, deviation: Deviation) -> bool:
    """Whether a deviation applies to a case."""
    if case.speaker.family not in deviation.families:
        return False
    if deviation.rows and case.row not in deviation.rows:
        return False
    if deviation.unrated and case.logprobs:
        return False
    if ("stream" if case.stream else "whole") not in deviation.modes:
        return False
    choices, prompts = case.n * len(case.prompts), len(case.prompts)
    single = case.parts == 1
    if deviation.breaks and not single:  # one of several calls, each with one choice
        return case.parts == choices and deviation.shape in ("call", "one")
    return {
        "": True,
        "call": single,
        "one": single and choices == 1,
        "several": single and choices > 1,
        "samples": single and choices > 1 and prompts == 1,
        "list": single and prompts > 1,
    }[deviation.shape]


def _chosen(rng: Random, fitting: Sequence[Deviation], count: int) -> tuple[Deviation, ...]:
    """Choose the kind first, so that kinds with many names are not more frequent."""
    chosen: list[Deviation] = []
    kinds = sorted({deviation.kind for deviation in fitting})
    rng.shuffle(kinds)
    for kind in kinds:
        if len(chosen) == count:
            break
        deviation = rng.choice([d for d in fitting if d.kind == kind])
        if not any(_collide(deviation, other) for other in chosen):
            chosen.append(deviation)
    return tuple(sorted(chosen, key=lambda deviation: ORDER.index(deviation.kind)))


def _collide(one: Deviation, other: Deviation) -> bool:
    return (
        one.kind in other.excludes
        or other.kind in one.excludes
        or one.name in other.excludes
        or other.name in one.excludes
    )
