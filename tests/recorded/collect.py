"""Turns what the recorder wrote (`python3 collect.py DIR`: DIR/cases.json, DIR/out/raw.json) into the suites beside this file."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
out = sys.argv[1]
cases, raw = json.load(open(f"{out}/cases.json")), json.load(open(f"{out}/out/raw.json"))
suites, left = {}, []


def text_turn(turn):
    body = turn["body"]
    return dict(prompt=body["prompt"], stopping_strings=body.get("stopping_strings") or [], speaker=turn["speaker"])


for c in cases:
    if c["name"] not in raw: continue
    r = raw.get(c["name"]) or {}
    if r.get("failed") or not r.get("turns"):
        left.append((c["name"], r.get("failed") or r.get("error")))
        continue
    first, given = r["turns"][0], c["input"]
    if "text" in c["kind"]:
        expected = text_turn(first)
        if "group" in given: expected["turns"] = [text_turn(t) for t in r["turns"]]
    else:
        expected = dict(messages=first["body"]["messages"], prompts=[dict(group=p["group"], identifier=p.get("identifier"), tokens=p["tokens"]) for p in first["prompts"] if p["content"] != ""])
        wire = r["wire"][0]["body"] if r["wire"] else {}
        source = given.get("chat_completion_source", "custom")
        if given.get("custom_prompt_post_processing"): expected["sent_messages"] = wire["messages"]
        if source == "claude":
            expected["anthropic"] = dict(messages=wire["messages"], system=wire.get("system") or [])
            # that program counts 2 tokens more in each message for this provider, and the recorder's counter does not
            for p in expected["prompts"]: del p["tokens"]
    expected["random_calls"] = len(r["random_log"])
    if first.get("activated"): expected["world_info"] = dict(activated=[dict(world=e["world"], uid=e["uid"]) for e in first["activated"]])
    suite = "groups" if "group" in given else "text" if "text" in c["kind"] else "chat"
    if c["name"].startswith("pu-"): suite = ("third_" if c["name"].startswith("pu-q-") else "more_") + suite
    suites.setdefault(suite, []).append(dict(name=c["name"], about=c["about"], source=c["source"], kind=c["kind"], input=given, expected=expected))
for name, suite in suites.items():
    with open(os.path.join(HERE, f"{name}.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False, separators=(",", ":")) for c in suite) + "\n]\n")
    print(name, len(suite))
print("left out:", left)
