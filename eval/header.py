"""Print one JSON line that says how, when and on what a result was made."""

import json
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

command = [Path(part).name if os.sep in part else part for part in sys.argv[1:]]
facts = {
    "command": " ".join(command),
    "date": datetime.now(UTC).date().isoformat(),
    "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    "python": platform.python_version(),
    "dancematch": version("dancematch"),
}
print(json.dumps(facts))
