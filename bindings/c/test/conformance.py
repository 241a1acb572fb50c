"""Asks the conversations of tests/door of the library in C: python3 conformance.py LIBRARY."""

import ctypes, json, pathlib, sys

library = ctypes.CDLL(sys.argv[1])
library.tapster_new.argtypes, library.tapster_new.restype = [ctypes.c_char_p], ctypes.c_void_p
library.tapster_call.argtypes, library.tapster_call.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t], ctypes.c_void_p
library.tapster_free.argtypes = library.tapster_free_text.argtypes = [ctypes.c_void_p]
calls = 0
for path in sorted(pathlib.Path(__file__).parents[3].glob("tests/door/*.json")):
    door = library.tapster_new(None)
    for call in json.loads(path.read_text(encoding="utf-8"))["calls"]:
        request, wanted = (json.dumps(call[key], ensure_ascii=False, separators=(",", ":")).encode() for key in ("request", "response"))
        response = library.tapster_call(door, request, len(request))
        assert ctypes.string_at(response) == wanted, (path, request)
        library.tapster_free_text(response)
        calls += 1
    library.tapster_free(door)
assert calls > 30
print(f"conformance: {calls} calls: ok")
