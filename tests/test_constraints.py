"""constraints.txt pins every library of a deployment, each within the range of setup.cfg."""

import importlib.metadata
from collections.abc import Iterator
from configparser import ConfigParser

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from app.settings import ROOT

#: The extras that a deployment may install.
EXTRAS = ("postgres", "aws", "google", "otel")


def pins() -> dict[str, str]:
    """The release of each library."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def declared() -> Iterator[Requirement]:
    """What setup.cfg asks for."""
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    texts = [config["options"]["install_requires"]]
    texts += [config["options.extras_require"][extra] for extra in EXTRAS]
    for text in texts:
        lines = (line for line in text.splitlines() if line and not line.startswith("#"))
        yield from map(Requirement, lines)


def needed(requirements: Iterator[Requirement]) -> set[str]:
    """The libraries that are needed, directly or by others; of those, what is installed here."""
    found: set[tuple[str, str]] = set()
    waiting = [(it.name, extra) for it in requirements for extra in ("", *it.extras)]
    while waiting:
        name, extra = waiting.pop()
        key = (canonicalize_name(name), extra)
        if key in found:
            continue
        found.add(key)
        try:
            more = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for it in map(Requirement, more):
            if it.marker is None or it.marker.evaluate({"extra": extra}):
                waiting += [(it.name, of) for of in ("", *it.extras)]
    return {name for name, _ in found}


def test_every_pin_is_in_the_range_of_setup_cfg() -> None:
    pinned = pins()
    wrong = {
        it.name: pinned.get(canonicalize_name(it.name))
        for it in declared()
        if not it.specifier.contains(pinned.get(canonicalize_name(it.name), "0"))
    }
    assert wrong == {}


def test_every_library_that_a_deployment_installs_is_pinned() -> None:
    assert sorted(needed(declared()) - pins().keys()) == []


def test_requirements_txt_and_the_image_install_the_pins() -> None:
    requirements = (ROOT / "requirements.txt").read_text().splitlines()
    assert requirements == ["-c constraints.txt", "-e .[postgres]"]
    assert "--constraint constraints.txt" in (ROOT / "Dockerfile").read_text()
