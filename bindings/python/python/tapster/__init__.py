"""Builds the exact messages that a language model receives, by rules that are files.

    import tapster

    with tapster.open("base", overlays=["brief.toml"]) as rules:
        prompt = rules.build(message="Hello.", character="ines.png")
        send(prompt.request["url"], prompt.payload)

Files are paths, handles of `put`, or dicts such as `{"name": "ines.json", "json": {...}}`; overlays are paths, or dicts such as
`{"name": "brief.toml", "text": "..."}`. Every function may be called from several threads.
"""

import json
import os
import re

from . import _tapster

__all__ = ["Door", "Error", "Prompt", "Rules", "call", "open", "put"]
__version__ = _tapster.VERSION

_read = open
_FORGOTTEN = "nothing is kept under the handle"
_HANDLE = re.compile("part-[0-9a-f]{32}")
# the keys of a scene that are files: whether each is a list
_FILES = {"character": False, "preset": True, "chat": False, "lorebooks": True, "persona_file": False}


class Error(Exception):
    """Why there is no result: `diagnostics` has errors and warnings with their codes, places and remedies."""

    def __init__(self, diagnostics):
        first = next((d for d in diagnostics if d["severity"] == "error"), None) or {"code": "", "message": "no result"}
        place = f" at {first['place']}" if first.get("place") else ""
        remedy = f"\nhelp: {first['help']}" if first.get("help") else ""
        super().__init__(f"{first['code']}{place}: {first['message']}{remedy}")
        self.diagnostics = diagnostics

    def __reduce__(self):
        return Error, (self.diagnostics,)


class Prompt:
    """A built prompt: `payload` for the provider, `request` with where to send it, the `dialect` of both, `patch` with what the
    chat has to remember, `diagnostics` with warnings, and, if they were asked for, `plan` and `trace`."""

    __slots__ = ("payload", "request", "dialect", "patch", "diagnostics", "plan", "trace")

    def __init__(self, result, diagnostics):
        self.diagnostics = diagnostics
        for name in ("payload", "request", "dialect", "patch", "plan", "trace"):
            setattr(self, name, result.get(name))

    def __repr__(self):
        return f"Prompt({self.payload!r})"


class Door:
    """Keeps what was opened. Packs are also found by name in `folders`, before the shipped ones."""

    def __init__(self, folders=()):
        self._native = _tapster.Door([os.fspath(folder) for folder in folders])
        # handles by path, with what says whether the file has changed
        self._files = {}

    def call_text(self, request):
        """Answers a request that is bytes of JSON with a text of JSON."""
        return self._native.call_text(request)

    def call(self, request):
        """Answers any request of docs/reference/door.md: a dict with `ok`, `diagnostics` and, if `ok` is true, `result`."""
        text = json.dumps(request, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)
        # a lone surrogate is no text: the door says where it is
        return json.loads(self._native.call_text(text.encode("utf-8", "surrogatepass")))

    def open(self, pack="base", *, overlays=(), packs=()):
        """Loads and compiles a pack with overlays. `packs` has packs as files: `{"name": ..., "files": {path: text}}`."""
        return Rules(self, {"pack": pack, "overlays": [_overlay(overlay) for overlay in overlays], "packs": list(packs)})

    def put(self, file):
        """Keeps a file for scenes; returns its handle. A path is read again where the file has changed."""
        if isinstance(file, dict):
            return _result(self.call({"call": "put", **file}))["part"]
        path = os.fspath(file)
        stat = os.stat(path)
        known = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        kept = self._files.get(path)
        if kept is None or kept[0] != known:
            with _read(path, "rb") as opened:
                content = _base64(opened.read())
            kept = self._files[path] = (known, self.put({"name": path, "base64": content}))
        return kept[1]

    def _scene(self, scene):
        scene = dict(scene)
        for key, many in _FILES.items():
            files = scene.get(key)
            if files is None:
                scene.pop(key, None)
            elif many:
                scene[key] = [self._file(file) for file in (files if isinstance(files, (list, tuple)) else [files])]
            else:
                scene[key] = self._file(files)
        return scene

    def _file(self, file):
        is_sent = isinstance(file, dict) or isinstance(file, str) and _HANDLE.fullmatch(file)
        return file if is_sent else self.put(file)


class Rules:
    """A compiled pack with overlays. A scene is a dict with the keys of a scene file, which may also be given by name."""

    def __init__(self, door, request):
        self._door, self._request, self._handle = door, request, None
        answer = self._open()
        result, self.diagnostics = answer["result"], answer["diagnostics"]
        self.pack, self.release = result["pack"], result["release"]
        self.fingerprint, self.dialects = result["fingerprint"], result["dialects"]

    def build(self, scene=None, *, plan=False, trace=False, **keys):
        """Builds a prompt."""
        answer = self._ask("build", {"scene": {**(scene or {}), **keys}, "plan": plan, "trace": trace})
        return Prompt(answer["result"], answer["diagnostics"])

    def emit(self, scene=None, *, dialects=(), **keys):
        """Builds a prompt once; returns its `payload` and `request` for each dialect."""
        return self.call("emit", scene={**(scene or {}), **keys}, dialects=list(dialects))["dialects"]

    def explain(self, scene=None, *, about="blocks", **keys):
        """Says why a prompt is as it is: `about` is as in docs/reference/door.md."""
        return self.call("explain", scene={**(scene or {}), **keys}, about=about)

    def check(self, scene=None, **keys):
        """Returns the errors and warnings of the rules with a scene, as diagnostics."""
        scene = {**(scene or {}), **keys}
        return self._ask("check", {"scene": scene} if scene else {})["diagnostics"]

    def options(self, **values):
        """Returns the `options` with their values, and the `schema` of these."""
        return self.call("options", option=values)

    def diff(self, other, scene=None, **keys):
        """Compares with other rules, and the prompts of a scene with both."""
        scene = self._door._scene({**(scene or {}), **keys})
        return _result(self._door.call({"call": "diff", "a": self, "b": other, **({"scene": scene} if scene else {})}))

    def call(self, name, **arguments):
        """Asks anything else about these rules: the result of a call of docs/reference/door.md."""
        return self._ask(name, arguments)["result"]

    def close(self):
        """Forgets the rules."""
        handle, self._handle = self._handle, None
        if handle:
            self._door.call({"call": "close", "handles": [handle]})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _open(self):
        answer = self._door.call({"call": "open", **self._request})
        self._handle = _result(answer)["rules"]
        return answer

    def _ask(self, call, arguments):
        answer = self._try(call, arguments)
        # the door keeps what was used last, and equal rules have one handle: it may be forgotten
        if not answer["ok"] and any(d["message"].startswith(_FORGOTTEN) for d in answer["diagnostics"]):
            self._door._files.clear()
            self._open()
            answer = self._try(call, arguments)
        _result(answer)
        return answer

    def _try(self, call, arguments):
        if self._handle is None:
            raise Error([{"severity": "error", "code": "name.unknown", "message": "the rules are closed", "help": "open them again"}])
        request = {"call": call, "rules": self._handle, **arguments}
        if "scene" in request:
            request["scene"] = self._door._scene(request["scene"])
        if "file" in request:
            request["file"] = self._door._file(request["file"])
        return self._door.call(request)


def _result(answer):
    if not answer["ok"]:
        raise Error(answer["diagnostics"])
    return answer["result"]


def _plain(value):
    if isinstance(value, Rules):
        return value._request
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a request has no place for a {type(value).__name__}")


def _overlay(overlay):
    if isinstance(overlay, dict):
        return overlay
    path = os.fspath(overlay)
    with _read(path, encoding="utf-8", newline="") as opened:
        return {"name": path, "text": opened.read()}


def _base64(content):
    import base64

    return base64.b64encode(content).decode("ascii")


_door = Door()
call, put = _door.call, _door.put


def open(pack="base", *, overlays=(), packs=(), folders=()):
    """Loads and compiles a pack with overlays; packs are also found by name in `folders`."""
    door = Door(folders) if folders else _door
    return door.open(pack, overlays=overlays, packs=packs)
