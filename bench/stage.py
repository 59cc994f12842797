"""Starts everything that is measured: the vendor, Tollgate, and the installed peers."""

import contextlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

from app.devstack.children import Children
from app.devstack.stack import listen, port_of
from app.settings import ROOT
from bench.cores import pinned, share, split, ticks
from bench.figures import START, STARTUP, VENDOR
from bench.peers import peers, start_peer
from bench.procs import largest_mb, memory_mb, processor_s
from bench.results import Record, Shares
from bench.starting import first_response_s
from bench.streams import StreamLoad, StreamResult
from bench.target import Target
from bench.tollgate import Tollgate

#: How often memory is sampled while streams are open.
MEMORY_S = 0.5

#: How long a reader may take to exit after it has written its result, in seconds.
ENDED_S = 60.0

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Stage:
    """The running targets, for the parts of the benchmark."""

    folder: Path
    vendor: Target
    #: Tollgate first.
    gateways: list[Target]
    tollgate: Tollgate
    gateway_cores: set[int]
    rest: set[int]
    rounds: int
    say: Say
    #: One record per gateway, of its start-up.
    starts: list[Record] = field(default_factory=list)

    @property
    def targets(self) -> list[Target]:
        """The vendor and the gateways."""
        return [self.vendor, *self.gateways]


@contextlib.contextmanager
def staged(folder: Path, rounds: int, *, with_peers: bool, say: Say) -> Iterator[Stage]:
    """Start everything, and stop it at the end. This process moves to the other cores.

    Raises: ChildFailed, NotReady.
    """
    raise_descriptors()
    gateway_cores, rest = split(os.sched_getaffinity(0), 1)
    with ExitStack() as exits:
        exits.enter_context(pinned(rest))
        exits.callback(say, "Stopping")
        vendor = exits.enter_context(vendor_at(folder))
        tollgate = Tollgate(folder / "tollgate", vendor.port, rest)
        around = Children(folder / "tollgate" / "log", tollgate.environment())
        tollgate.start_accounting(exits.enter_context(around))
        say("Tollgate starts")
        web, target, start_s = tollgate.start_web(folder / "tollgate" / "web", gateway_cores)
        exits.callback(web.stop)
        stage = Stage(folder, vendor, [target], tollgate, gateway_cores, rest, rounds, say)
        stage.starts.append(start_record(target, start_s))
        if with_peers:
            _start_peers(stage, exits)
        yield stage


def start_record(target: Target, start_s: float) -> Record:
    """Return a gateway's start-up time, and its memory before any load."""
    figures = {
        "start_s": start_s,
        "idle_mb": memory_mb(target.pid),
        "worker_mb": largest_mb(target.pid),
    }
    return Record(STARTUP, START, target.name, figures)


@dataclass(slots=True)
class ProcessorUse:
    """The processor use of a target during a measurement."""

    cpu_s: float = 0.0
    shares: Shares = field(default_factory=Shares)


@contextlib.contextmanager
def metered(stage: Stage, target: Target) -> Iterator[ProcessorUse]:
    """Measure the processor use of `target`; then wait until its background work is done."""
    meter = ProcessorUse()
    started_s, vendor_s, client_s = time.monotonic(), processor_s(stage.vendor.pid), _children_s()
    used_s, rest, gateway = processor_s(target.pid), ticks(stage.rest), ticks(stage.gateway_cores)
    yield meter
    wall_s = time.monotonic() - started_s
    meter.cpu_s = processor_s(target.pid) - used_s
    is_vendor = target.pid == stage.vendor.pid
    ours = 0.0 if is_vendor else meter.cpu_s / wall_s / len(stage.gateway_cores)
    meter.shares = Shares(
        rest=share(rest, ticks(stage.rest)),
        foreign=max(0.0, share(gateway, ticks(stage.gateway_cores)) - ours),
        vendor=(processor_s(stage.vendor.pid) - vendor_s) / wall_s,
        client=(_children_s() - client_s) / wall_s,
    )
    target.settle()


def _children_s() -> float:
    """Return the processor time of exited child processes: the clients."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def read_streams(plan: StreamLoad, sample: Callable[[], None] = lambda: None) -> StreamResult:
    """Run the streams' reader, and call `sample` regularly until it ends."""
    with reading(plan) as reader:
        while reader.poll() is None:
            sample()
            with contextlib.suppress(subprocess.TimeoutExpired):  # still running
                reader.wait(MEMORY_S)
        return outcome(reader)


@contextlib.contextmanager
def reading(plan: StreamLoad) -> Iterator[subprocess.Popen[str]]:
    """Run a streams' reader in the background; leaving the context ends it."""
    command = [sys.executable, "-m", "bench.streams"]
    with subprocess.Popen(  # noqa: S603  # our own
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        if reader.stdin is None:
            raise RuntimeError("the reader has no stdin")
        reader.stdin.write(json.dumps(asdict(plan)))
        reader.stdin.close()
        try:
            yield reader
        finally:
            reader.kill()  # otherwise leaving the context might wait forever


def outcome(reader: subprocess.Popen[str]) -> StreamResult:
    """Wait for the reader's end and return its result.

    Raises: RuntimeError if it failed.
    """
    found = reader.stdout.read() if reader.stdout else ""
    if reader.wait(ENDED_S):
        raise RuntimeError(f"the streams' reader exited with {reader.returncode}")
    return StreamResult(**json.loads(found))


def raise_descriptors() -> None:
    """Raise the limit of descriptors of this process and its children to the hard limit."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@contextlib.contextmanager
def vendor_at(folder: Path) -> Iterator[Target]:
    """Run the benchmark's vendor, with its log in `folder`."""
    with listen(0) as listener, Children(folder / "vendor", os.environ) as children:
        port, descriptor = port_of(listener), listener.fileno()
        command = [sys.executable, "-m", "bench.vendor", str(descriptor)]
        children.start("vendor", command, pass_fds=[descriptor])
        target = Target(VENDOR, port, "/v1/completions", children.pid("vendor"))
        first_response_s(children, target, time.monotonic())
        yield target


def _start_peers(stage: Stage, exits: ExitStack) -> None:
    for peer in peers(stage.vendor.port, stage.folder):
        if not peer.installed.exists():
            stage.say(f"{peer.name} is not installed: `make bench-peers`")
            continue
        stage.say(f"{peer.name} starts")
        log_dir = stage.folder / peer.name.lower()
        children, target, start_s = start_peer(peer, log_dir, stage.gateway_cores)
        exits.callback(children.stop)
        stage.gateways.append(target)
        stage.starts.append(start_record(target, start_s))
