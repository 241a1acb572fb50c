"""What both engines run on each batch: lines of scenes in, lines of prompts out, as `tapster build --jsonl` writes them."""

import json

import tapster

RULES = None


def build_line(line):
    """The prompt of a scene as a line; a scene that cannot be built costs its own line."""
    global RULES
    if RULES is None:
        # once in each worker process
        RULES = tapster.open("base")
    scene = json.loads(line)
    out = {"id": scene.pop("id", None)}
    try:
        prompt = RULES.build(scene)
        out.update(ok=True, diagnostics=prompt.diagnostics, dialect=prompt.dialect)
        out.update(payload=prompt.payload, request=prompt.request, patch=prompt.patch)
    except tapster.Error as error:
        out.update(ok=False, diagnostics=error.diagnostics)
    return json.dumps(out, ensure_ascii=False, separators=(",", ":"))
