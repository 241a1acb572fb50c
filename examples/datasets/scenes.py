"""Writes a file of scenes, one on each line: python scenes.py 10000 > scenes.jsonl"""

import json
import sys

WORDS = "river lantern because quietly seven the harbour answered and dragon of morning".split()

for n in range(int(sys.argv[1])):
    text = " ".join(WORDS[(n * 7 + k * (n % 5 + 1)) % len(WORDS)] for k in range(20 + n % 30))
    history = [
        {"role": "user", "text": f"Number {n}: is the {WORDS[n % 12]} there?"},
        {"role": "assistant", "text": text},
    ]
    scene = {
        "names": {"user": f"User {n % 97}", "char": "Ines"},
        "card": {"description": "{{char}} keeps the lighthouse for {{user}}."},
        "preset": {"main": "Write {{char}}'s next reply."},
        "books": [{"id": "skerry", "entries": [{"id": "dragon", "keys": ["dragon"], "text": "The dragon sleeps."}]}],
        "context": {"window": 4096, "reserve": 300, "tokenizer": "cl100k"},
        "history": history,
    }
    print(json.dumps({"id": n, "message": f"And {n}?", "now": "2026-01-31T20:15:00Z", "scene": scene}))
