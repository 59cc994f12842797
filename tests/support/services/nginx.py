"""A real nginx in front of a web process: with its defaults, or as docs/nginx.conf has it."""

import os
import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from app.settings import ROOT
from tests.support.ports import free_port
from tests.support.processes import end
from tests.support.services.polling import wait_until
from tests.support.services.tls import make_certificate

#: What a distribution's own file has around the sites, and nothing that changes what they do.
AROUND = """
{user}
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log notice;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""

#: What everybody begins with.
DEFAULTS = """
server {{
    listen 127.0.0.1:{port};
    location / {{
        proxy_pass http://127.0.0.1:{target};
    }}
}}
"""


def find_nginx() -> str | None:
    """Return where nginx is, None when it is not here."""
    return shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")


class Nginx:
    """One nginx; `ours` as the documentation has it, over TLS, else with its defaults.

    `changes`: what an operator changes in the documentation's file, besides names and addresses.
    """

    def __init__(
        self,
        program: str,
        folder: Path,
        target: int,
        *,
        ours: bool,
        changes: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._changes = changes
        self._program = program
        self._folder = folder
        self.port = free_port()
        self.certificate = folder / "certificate.pem"
        site = DEFAULTS.format(port=self.port, target=target)
        self.base_url = f"http://127.0.0.1:{self.port}"
        if ours:
            make_certificate(self.certificate, folder / "key.pem")
            site = self._ours(target)
            self.base_url = f"https://127.0.0.1:{self.port}"
        (folder / "site.conf").write_text(site)
        user = "user root;" if os.geteuid() == 0 else ""
        (folder / "nginx.conf").write_text(AROUND.format(folder=folder, user=user))

    def _ours(self, target: int) -> str:
        """Return the documentation's file, with nothing changed but names and addresses."""
        text = (ROOT / "docs" / "nginx.conf").read_text()
        for before, after in (
            ("server 127.0.0.1:8000;", f"server 127.0.0.1:{target};"),
            ("listen 443 ssl", f"listen 127.0.0.1:{self.port} ssl"),
            ("/etc/ssl/tollgate/fullchain.pem", str(self.certificate)),
            ("/etc/ssl/tollgate/privkey.pem", str(self._folder / "key.pem")),
            *self._changes,
        ):
            assert text.count(before) == 1, before
            text = text.replace(before, after)
        return text

    def start(self) -> "Nginx":
        """Start it and wait until it listens."""
        command = [self._program, "-c", str(self._folder / "nginx.conf"), "-p", str(self._folder)]
        self._output = (self._folder / "output").open("wb")
        self._process = subprocess.Popen(command, stdout=self._output, stderr=self._output)
        wait_until(lambda: self._process.poll() is not None or self._listens())
        assert self._process.poll() is None, (self._folder / "output").read_text()
        return self

    def log(self) -> str:
        """Its error log."""
        return (self._folder / "error.log").read_text()

    def stop(self) -> None:
        """Stop it."""
        end(self._process)
        self._output.close()

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
        except OSError:
            return False
        return True
