"""Writes or reads a part for each line of stdin: `python -m tests.rolling.exchange`.

The first line of stdout is the file of the package `app` that runs.
A line is a JSON array: the name of a part, "write" or "read", and for "read" what the writer
returned. Each is answered by one line of JSON.
"""

import json
import sys

import app
from tests.rolling.exchange import ledger_parts, shared_parts, usage_parts
from tests.rolling.exchange.samples import Parts

PARTS: Parts = {**usage_parts.PARTS, **shared_parts.PARTS, **ledger_parts.PARTS}

print(app.__file__, flush=True)
for line in sys.stdin:
    name, act, told = json.loads(line)
    write, read = PARTS[name]
    print(json.dumps(write() if act == "write" else read(told)), flush=True)
