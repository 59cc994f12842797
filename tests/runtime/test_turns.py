"""Long computations let others run."""

import subprocess
import sys

GREENLETS = """
from gevent import monkey; monkey.patch_all()
import gevent
from app.runtime.turns import give_turn

ran = []

def busy():
    for at in range(3):
        ran.append(at)
        give_turn()

gevent.joinall([gevent.spawn(busy), gevent.spawn(ran.append, "other")])
print(ran.index("other") < len(ran) - 1)
"""


def test_other_greenlets_run_at_a_turn() -> None:
    run = subprocess.run([sys.executable, "-c", GREENLETS], capture_output=True, check=True)
    assert run.stdout.strip() == b"True"
