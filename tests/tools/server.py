"""A small MCP server over stdio, written by hand. The first argument says how it behaves:

well       lists three tools and carries them out
silent     reads and never answers
mute-init  answers `initialize` and nothing else
garbage    prints what is not JSON
flood      prints one line without end
pages      lists tools on pages without end
dies       ends as soon as a tool is called
hangs      answers everything but calls of tools
"""

import json
import os
import sys

MODE = sys.argv[1] if len(sys.argv) > 1 else "well"


def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def tool(name, **schema):
    return {"name": name, "description": "Does " + name + ".", "inputSchema": {"type": "object", **schema}}


TOOLS = [
    tool("add", properties={"a": {"type": "number"}, "b": {"type": "number"}}, required=["a", "b"]),
    tool("fail"),
    tool("environment"),
]


def result(method, params):
    if method == "initialize":
        version = params.get("protocolVersion", "2025-06-18")
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "small", "version": "1"}}
    if method == "tools/list":
        if MODE == "pages":
            return {"tools": [tool("t")], "nextCursor": "more"}
        return {"tools": TOOLS}
    if method == "tools/call":
        if MODE == "dies":
            os._exit(3)
        name, arguments = params["name"], params.get("arguments", {})
        if name == "add":
            total = arguments["a"] + arguments["b"]
            return {"content": [{"type": "text", "text": str(total)}], "structuredContent": {"sum": total}}
        if name == "environment":
            return {"content": [{"type": "text", "text": " ".join(sorted(os.environ))}]}
        return {"content": [{"type": "text", "text": "it is broken"}], "isError": True}
    return None


if MODE == "garbage":
    print("hello, I am no server")
    sys.stdout.flush()
if MODE == "flood":
    while True:
        sys.stdout.write("x" * 65536)

for line in sys.stdin:
    if MODE in ("silent", "garbage"):
        continue
    message = json.loads(line)
    if "id" not in message:
        continue
    method = message["method"]
    if MODE == "mute-init" and method != "initialize" or MODE == "hangs" and method == "tools/call":
        continue
    found = result(method, message.get("params") or {})
    if found is None:
        send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no such method"}})
    else:
        send({"jsonrpc": "2.0", "id": message["id"], "result": found})
