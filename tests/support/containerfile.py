"""Runs the steps of the Dockerfile in a folder, where nothing can build images.

Each absolute path of the image that is listed in `places` stands for a folder. The stages share
them, so that `COPY --from` has nothing to do.
"""

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.settings import ROOT

#: Steps that change the machine rather than the folder.
_OF_THE_MACHINE = ("groupadd ",)


@dataclass
class Steps:
    """The steps that have run, and what they leave: the environment, the user, the command."""

    places: Mapping[str, Path]
    args: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = "root"
    bases: list[str] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)

    def do(self, python: str) -> "Steps":
        """Run all steps with this Python; each must succeed."""
        for word, rest in steps(ROOT / "Dockerfile"):
            getattr(self, f"_{word.lower()}")(rest.replace("python3 -m venv", f"{python} -m venv"))
        return self

    def placed(self, text: str) -> str:
        """Return a text with the image's paths replaced by the folders."""
        for path, folder in self.places.items():
            text = re.sub(rf"(?<![\w.-]){re.escape(path)}", str(folder), text)
        return text

    @property
    def folder(self) -> Path:
        """The folder of the present directory."""
        return Path(self.placed(self.workdir))

    def _from(self, rest: str) -> None:
        self.bases.append(self._filled(rest.partition(" ")[0]))
        self.user, self.env, self.workdir = "root", {}, "/"

    def _arg(self, rest: str) -> None:
        name, _, value = rest.partition("=")
        self.args[name] = value

    def _workdir(self, rest: str) -> None:
        self.workdir = rest
        self.folder.mkdir(parents=True, exist_ok=True)

    def _copy(self, rest: str) -> None:
        words = rest.split()
        if words[0].startswith("--from="):
            assert Path(self.placed(words[1])).exists(), rest
            return
        assert words == [".", "."], rest
        for path in context():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, self.folder / path)

    def _run(self, rest: str) -> None:
        if rest.startswith(_OF_THE_MACHINE):
            self.not_run.append(rest)
            return
        text = self.placed(re.sub(r" -o \w+ -g \w+", "", rest))
        env = {**os.environ, **self.args, **self.env}
        done = subprocess.run(
            ["sh", "-ec", text],
            cwd=self.folder,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"RUN {rest}\n{done.stdout}{done.stderr}"

    def _env(self, rest: str) -> None:
        self.env |= dict(word.split("=", 1) for word in shlex.split(self.placed(rest)))

    def _user(self, rest: str) -> None:
        self.user = rest

    def _volume(self, rest: str) -> None:
        self.volumes.append(rest)

    def _expose(self, rest: str) -> None:
        assert rest.isdigit()

    def _cmd(self, rest: str) -> None:
        self.command = json.loads(rest)

    def _filled(self, text: str) -> str:
        return re.sub(r"\$\{(\w+)\}", lambda found: self.args[found[1]], text)


def steps(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each step of a Dockerfile: its word, and the rest in one line."""
    lines = (line for line in path.read_text().splitlines() if not line.startswith("#"))
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            word, _, rest = line.partition(" ")
            yield word, " ".join(rest.split())


def context() -> list[str]:
    """Return the files of the checkout that .dockerignore lets through, of those in git."""
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line]
    rules = [line for line in rules if not line.startswith("#")]
    listed = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    return [path for path in listed if (ROOT / path).is_file() and not _ignored(path, rules)]


def _ignored(path: str, rules: list[str]) -> bool:
    """The last rule that fits decides; one that fits a folder fits all that is in it."""
    ignored = False
    for rule in rules:
        pattern = rule.removeprefix("!").removeprefix("**/")
        parents = [path, *map(str, Path(path).parents)]
        if any(fnmatch.fnmatch(it, pattern) for it in parents):
            ignored = not rule.startswith("!")
    return ignored
