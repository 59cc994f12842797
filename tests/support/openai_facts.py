"""What OpenAI's description of its API says of the parts that are ours, too.

Fields, their types and bounds, and which of them are required; of parameters, which must be there.
"""

import json
from pathlib import Path
from typing import Any

_FACTS: Any = json.loads(Path(__file__).with_suffix(".json").read_text())

#: By the name of a schema: {"required": [names], "properties": {name: {type, minimum, maximum}}}.
SCHEMAS: dict[str, Any] = _FACTS["schemas"]

#: By path: {a parameter's name: whether it is required}.
PARAMETERS: dict[str, dict[str, bool]] = _FACTS["parameters"]
