"""What only web processes check before they start: vendors, traces, gunicorn's settings, disk."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from app.accounts.apikey import secret_digest
from app.accounts.keyring import LONGEST_CACHE_S
from app.gateways.families import GATEWAY_SPECS
from app.observability.disk_alarms import DiskAlarms
from app.observability.logs import configure
from app.server.arguments import VARIABLE, arguments_fault, temporary_directory_given
from app.settings import Settings
from app.startup.common import (
    ReadSettings,
    check_common,
    findings_of,
    read_settings,
    setting_findings,
)
from app.startup.deadline import Check
from app.startup.finding import WEB, Finding, State, refused, start_or_exit
from app.startup.server_settings import (
    address_fault,
    directory_fault,
    read_server_settings,
    temporary_directory,
)
from app.storage.sql.start_check import check_replica
from app.tracing.setup import check_tracing
from app.transport.trust import TrustUnreadable, check_trust
from app.vendors.table import load_vendors

#: No program is known to listen on a port.
NOBODY: Mapping[int, str] = MappingProxyType({})

#: How long a read replica may take to respond, in seconds.
REPLICA_S = 0.5

_SET_BIND = "set BIND to a name or an address of this host, without a port"
_OWN_KEY = "is a key of Tollgate, so openai is not configured: set it to OpenAI's key, or unset it"
_LONG_CACHE = (
    f"is above {LONGEST_CACHE_S:g}: keys are cached for {LONGEST_CACHE_S:g} s, so that a revoked"
    " key soon stops working"
)
_NO_VENDOR = "no vendor is configured, so no model can be called: see `tollgate vendors`"


def check_web(read: ReadSettings) -> Iterator[Finding]:
    """Check what web processes need beyond what `check_common` checks."""
    settings = read.settings
    _, problems = read_server_settings(settings.env)
    yield from setting_findings(problems, WEB)
    if fault := arguments_fault(settings.env):
        yield Finding(VARIABLE, "refused", fault, WEB)
    if settings.key_cache_s > LONGEST_CACHE_S:
        yield Finding("TOLLGATE_KEY_CACHE_S", "warning", _LONG_CACHE, WEB)
    if "TOLLGATE_VENDORS" not in read.problems:
        yield from _vendors(settings)
    yield from findings_of("OTEL_*", lambda: check_tracing(settings.env), WEB)
    yield from _trust(settings.env)
    yield from _replica(settings)


def _vendors(settings: Settings) -> Iterator[Finding]:
    for found in findings_of("TOLLGATE_VENDORS", lambda: _check_vendors(settings), WEB):
        yield found if found.message else Finding("TOLLGATE_VENDORS", "warning", _NO_VENDOR, WEB)
    if (
        secret_digest(settings.env.get("OPENAI_API_KEY", "")) is not None
    ):  # its clients read it, too
        yield Finding("OPENAI_API_KEY", "warning", _OWN_KEY, WEB)


def _check_vendors(settings: Settings) -> str:
    table = load_vendors(settings.vendors_file, settings.env, GATEWAY_SPECS)
    names = [vendor.name for vendor in table.configured()]
    return f"configured: {', '.join(names)}" if names else ""


def _trust(env: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a warning if the certificates cannot be read: calls of vendors over TLS fail then."""
    try:
        check_trust(env)
    except TrustUnreadable as exc:
        name, _, problem = str(exc).partition(" ")
        yield Finding(name, "warning", f"{problem}: vendors cannot be called over TLS", WEB)


def _replica(settings: Settings) -> Iterator[Finding]:
    """Yield a finding about the read replica, without which reports read the ledger itself."""
    if settings.database_read_url is None:
        return
    url = settings.database_read_url
    check = Check(lambda: check_replica(url), REPLICA_S)
    for found in findings_of("DATABASE_READ_URL", check.result, WEB):
        if found.state == "ok":
            yield found
        else:
            problem = f"{found.message}. Reports read DATABASE_URL meanwhile"
            yield Finding(found.subject, "warning", problem, WEB)


def spool_findings(settings: Settings) -> Iterator[Finding]:
    """Yield what is wrong with the spool's directory, without creating it."""
    directory = settings.spool_dir
    if not directory.exists():
        parent = next(it for it in directory.absolute().parents if it.exists())
        state: State = "ok"
        message = f"{directory} will be created"
        if (fault := _creation_fault(parent)) is not None:
            state, message = "warning", f"{directory} cannot be created in {parent} ({fault})"
        yield Finding("TOLLGATE_SPOOL_DIR", state, message, WEB)
        return
    _, alarms = DiskAlarms(directory, writes=True).check()
    for alarm in alarms.values():
        yield Finding("TOLLGATE_SPOOL_DIR", "warning", alarm, WEB)
    if not alarms:
        yield Finding("TOLLGATE_SPOOL_DIR", "ok", f"{directory} is writable", WEB)


def _creation_fault(parent: Path) -> str | None:
    """Return why no directory can be created in `parent`; None if one can."""
    try:
        with TemporaryDirectory(dir=parent):
            return None
    except OSError as exc:
        return exc.strerror or str(exc)


def check_host(settings: Settings, users: Mapping[int, str] = NOBODY) -> Iterator[Finding]:
    """Check the directories and the port of this host, for a process that may run already.

    `users`: port -> what is known to listen on it, and what to do then.
    """
    yield from spool_findings(settings)
    fault = directory_fault(temporary_directory_given(settings.env) or temporary_directory())
    yield _host_finding("TMPDIR", fault, "the metrics and gunicorn's files can be written")
    server, problems = read_server_settings(settings.env)
    if "PORT" in problems:
        return
    found = address_fault(server.interface, server.port, wait_s=0)
    if found is None:
        yield Finding("PORT", "ok", f"port {server.port} is free", WEB)
    elif found.variable == "PORT":
        user = users.get(server.port, "by a web process that runs?")
        problem = f"port {server.port} cannot be used now ({found.words}): {user}"
        yield Finding("PORT", "warning", problem, WEB)
    else:
        problem = f"no process can listen on {server.interface!r} ({found.words}): {_SET_BIND}"
        yield _host_finding("BIND", problem, "")


def check_web_start(addresses: Sequence[tuple[str, int]], temporary: str | None) -> None:
    """Check what web processes need, and that they can listen on `addresses`.

    `temporary` is the directory of gunicorn's files and of the metrics.
    Raises: SystemExit after one line in the log.
    """
    read = read_settings()
    configure(read.settings.log_format)
    found = [*check_common(read), *check_web(read)]
    found.append(_host_finding("TMPDIR", directory_fault(temporary), "writable"))
    for host, port in [] if refused(found) else addresses:
        if fault := address_fault(host, port):
            next_step = "stop what does, or set PORT" if fault.variable == "PORT" else _SET_BIND
            problem = f"cannot listen on {host}:{port} ({fault.words}): {next_step}"
            found.append(_host_finding(fault.variable, problem, "free"))
    start_or_exit(found)


def _host_finding(subject: str, fault: str | None, well: str) -> Finding:
    return Finding(subject, "refused" if fault else "ok", fault or well, WEB)
