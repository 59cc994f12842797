"""The files that install, start and deploy Tollgate say what is true."""

import ast
import importlib.metadata
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path

import pytest
import requests
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from app.settings import CONFIG_DIR, ROOT
from tests.support.ports import free_port
from tests.support.processes import end
from tests.support.services.polling import wait_until

#: A command that installs the package `tollgate` of PyPI, alone or with extras. Of coreutils'
#: `install`, -o and -g are followed by a user and a group.
STRANGER = re.compile(r"install (?:-(?![og] )\S+ )*[\"'`]?tollgate(?:\[|==|[\"'`]?(?:\s|$))")

GUNICORN = [sys.executable, "-m", "gunicorn", "--config", str(CONFIG_DIR / "gunicorn.conf.py")]


def declared() -> set[str]:
    """The distributions that setup.cfg asks for, to run and in the extras that app may use."""
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    extras = config["options.extras_require"]
    lines = [config["options"]["install_requires"]]
    lines += [text for extra, text in extras.items() if extra not in ("test", "dev")]
    names = (line for text in lines for line in text.splitlines() if line)
    return {canonicalize_name(Requirement(n).name) for n in names if not n.startswith("#")}


def imported(path: Path) -> Iterator[str]:
    """The top-level packages that a module imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def test_what_is_imported_is_declared() -> None:
    """A library that comes only because another needs it may go when that one changes."""
    ours = {"app", "workers", "config"} | sys.stdlib_module_names
    # Flask's own other halves, and what comes and goes with it by its promise.
    known = declared() | {"werkzeug", "markupsafe"}
    distributions = importlib.metadata.packages_distributions()
    undeclared = {
        (str(path.relative_to(ROOT)), package)
        for folder in ("app", "workers", "config")
        for path in (ROOT / folder).rglob("*.py")
        for package in imported(path)
        if package not in ours
        and not known & {canonicalize_name(n) for n in distributions.get(package, [])}
    }
    assert undeclared == set()


def test_the_web_process_imports_no_celery(tmp_path: Path) -> None:
    script = "import app.wsgi, sys; print({'celery', 'kombu', 'workers'} & set(sys.modules))"
    env = {**os.environ, "REDIS_URL": "redis://127.0.0.1:1/0"}
    env |= {"DATABASE_URL": f"sqlite:///{tmp_path / 'ledger.db'}"}
    env |= {"TOLLGATE_SPOOL_DIR": str(tmp_path / "spool")}
    output = subprocess.check_output([sys.executable, "-c", script], cwd=ROOT, env=env, text=True)
    assert output == "set()\n"


def test_help_is_given_without_loading_what_runs() -> None:
    script = "import app.cli, sys; print({'flask', 'sqlalchemy', 'redis'} & set(sys.modules))"
    output = subprocess.check_output([sys.executable, "-c", script], cwd=ROOT, text=True)
    assert output == "set()\n"


def test_gunicorn_raises_its_descriptor_limit_patches_first_and_writes_nothing(
    tmp_path: Path, sqlite_url: str, redis_url: str
) -> None:
    """With --preload the application is imported in the master: patched before, or never."""
    home, log, port = tmp_path / "home", tmp_path / "log", free_port()
    home.mkdir()
    env = {**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": str(home), "PORT": str(port)}
    env |= {"REDIS_URL": redis_url, "DATABASE_URL": sqlite_url}
    env |= {"TOLLGATE_SPOOL_DIR": str(tmp_path / "spool")}
    with log.open("w") as output:
        server = subprocess.Popen(
            [
                "sh",
                "-c",
                'ulimit -S -n 256 && exec "$@"',
                "sh",
                *GUNICORN,
                "--preload",
                "app.wsgi:app",
            ],
            cwd=ROOT,
            env=env,
            stderr=output,
        )
    try:
        wait_until(lambda: server.poll() is not None or answers(f"http://127.0.0.1:{port}/readyz"))
        assert server.poll() is None, log.read_text()
        soft, hard = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
        assert soft == hard or soft >= 2 * 4000
    finally:
        end(server)
    assert "Warning" not in log.read_text()
    assert list(home.iterdir()) == []


def answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=60).ok
    except requests.ConnectionError:
        return False


def test_no_text_tells_anyone_to_install_a_stranger() -> None:
    """PyPI's `tollgate` is another project: ours is installed from its checkout."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    texts = [
        ROOT / name for name in listed.stdout.splitlines() if name != "tests/test_packaging.py"
    ]
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in texts
        if path.is_file() and path.suffix in (".md", ".py", ".toml", ".txt", ".yml", ".cfg", "")
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
        if STRANGER.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("line", "is_wrong"),
    [
        ("pip install tollgate", True),
        ("run pip install -U 'tollgate[postgres]'", True),
        ("uv pip install tollgate==0.2", True),
        ("install tollgate[aws] first", True),
        ("pip install -e '.[postgres]'", False),
        ("install -d -o tollgate -g tollgate -m 750 /var/lib/tollgate", False),
        ("pip install tollgate-gateway", False),
        ("pip install -e . && tollgate --version", False),
    ],
)
def test_a_stranger_is_told_from_what_is_ours(line: str, is_wrong: bool) -> None:
    assert bool(STRANGER.search(line)) == is_wrong
