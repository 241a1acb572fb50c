"""The tide as a command: arguments come in as JSON, and the result goes out as JSON."""

import json
import math
import sys

hour = json.load(sys.stdin)["hour"]
if not 0 <= hour < 24:
    sys.exit(f"there is no hour {hour}")
print(json.dumps({"hour": hour, "metres": round(2 + 1.5 * math.cos(hour * math.tau / 12.4), 2)}))
