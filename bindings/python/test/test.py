"""Tests of the package: python3 test.py, with the package in PYTHONPATH."""

import json, os, pathlib, pickle, signal, subprocess, sys, tempfile, threading, time, unittest

try:
    import resource
except ImportError:
    resource = None

import tapster

ROOT = pathlib.Path(__file__).parents[3]
BRIEF = {"name": "brief.toml", "text": 'kind = "overlay"\nversion = 1\n[preset]\nmain = "Be brief."\n'}
HELLO = {"role": "user", "content": "Hello.", "name": "User"}


def first(prompt):
    return prompt.payload["messages"][0]["content"]


class Conformance(unittest.TestCase):
    def test_conversations(self):
        calls = 0
        for path in sorted(ROOT.glob("tests/door/*.json")):
            door = tapster.Door()
            for call in json.loads(path.read_text(encoding="utf-8"))["calls"]:
                request, wanted = (json.dumps(call[key], ensure_ascii=False, separators=(",", ":")) for key in ("request", "response"))
                self.assertEqual(door.call_text(request.encode()), wanted, path)
                calls += 1
        self.assertGreater(calls, 30)


class Layer(unittest.TestCase):
    def test_page(self):
        page = (ROOT / "docs/how-to/from-python-or-node.md").read_text(encoding="utf-8")
        script = page.split("```python\n")[1].split("```")[0]
        printed = subprocess.check_output([sys.executable, "-c", script], encoding="utf-8")
        self.assertEqual(printed, f"https://api.openai.com/v1/chat/completions {[{'role': 'system', 'content': 'Be brief.'}, HELLO]}\npack base\n")

    def test_builds(self):
        with tapster.open("base", overlays=[BRIEF]) as rules:
            prompt = rules.build(message="Hello.")
            self.assertEqual(prompt.payload["messages"], [{"role": "system", "content": "Be brief."}, HELLO])
            self.assertEqual((prompt.dialect, prompt.diagnostics, prompt.plan), ("openai", [], None))
            self.assertEqual(prompt.request["url"], "https://api.openai.com/v1/chat/completions")
            self.assertIsNotNone(rules.build({"message": "Hello."}, trace=True).trace)
            whole = rules.build({"message": "Hello."}, plan=True)
            self.assertEqual((whole.plan is None, whole.request), (False, prompt.request))
            self.assertEqual(sorted(rules.emit(message="Hello.", dialects=["openai", "google"])), ["google", "openai"])
            self.assertEqual(rules.explain(about={"value": "preset.main"})["decided_by"], "pack base")
            self.assertEqual(rules.check(message="Hello."), [])
            self.assertIn("schema", rules.options())
            self.assertTrue(rules.diff("base", message="Hello.")["differs"])
            self.assertFalse(rules.diff(tapster.open(overlays=[BRIEF]))["differs"])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            overlay, card, pack = folder / "brief.toml", folder / "fox.json", folder / "mine" / "pack.toml"
            overlay.write_text(BRIEF["text"])
            pack.parent.mkdir()
            pack.write_text('kind = "pack"\nversion = 1\nname = "mine"\nrelease = "1.0.0"\nextends = ["sillytavern"]\n')
            write = lambda name: card.write_text(json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": name, "description": name + "!"}}))
            write("Fox")
            rules = tapster.open("mine", folders=[folder], overlays=[overlay])
            build = lambda: json.dumps(rules.build(message="Hello.", character=card, lorebooks=[], now="2026-01-31T20:15:00Z").payload)
            prompt = build()
            self.assertIn("Fox!", prompt)
            self.assertIn("Be brief.", prompt)
            self.assertEqual(build(), prompt)
            write("Badger")
            self.assertIn("Badger!", build())
            handle = tapster.put(card)
            self.assertRegex(handle, "^part-[0-9a-f]{32}$")
            with self.assertRaises(FileNotFoundError):
                rules.build(character="nowhere.json")

    def test_handles(self):
        one, two = tapster.open(overlays=[BRIEF]), tapster.open(overlays=[BRIEF])
        one.close()
        one.close()
        # both had the same handle
        self.assertEqual(first(two.build(message="Hello.")), "Be brief.")
        for call in (one.build, one.options, lambda: one.call("explain")):
            with self.assertRaises(tapster.Error) as caught:
                call()
            self.assertIn("closed", str(caught.exception))
        other = tapster.Door()
        self.assertFalse(other.call({"call": "build", "rules": two._handle})["ok"])

    def test_errors(self):
        with self.assertRaises(tapster.Error) as caught:
            tapster.open(overlays=[{"name": "broken.toml", "text": 'kind = "overlay"\nversion = 1\n[preset]\nmain = "Be\n'}])
        error = pickle.loads(pickle.dumps(caught.exception))
        self.assertRegex(str(error), r"^syntax\.toml at broken\.toml:4:\d+: .*\nhelp: ")
        self.assertEqual(error.diagnostics[0]["code"], "syntax.toml")

    def test_texts(self):
        rules = tapster.open()
        self.assertEqual(rules.build(message="a\0b").payload["messages"][0]["content"], "a\0b")
        for half in ("\ud800", "\udc00 x", "\ud83e\udd8a"):
            with self.assertRaises(tapster.Error) as caught:
                rules.build(message=half)
            self.assertIn("syntax.json", str(caught.exception))
        self.assertEqual(rules.build(message="🦊").payload["messages"][0]["content"], "🦊")
        for wrong in (float("nan"), object(), {1, 2}):
            with self.assertRaises((TypeError, ValueError)):
                rules.build(message=wrong)
        with self.assertRaises(tapster.Error) as caught:
            rules.build(message="a" * (64 << 20))
        self.assertIn("file.too_large", str(caught.exception))
        for wrong in ("text", None, 1):
            with self.assertRaises(TypeError):
                tapster.Door().call_text(wrong)
        self.assertIn('"ok":false', tapster.Door().call_text(b"\xff"))


class Threads(unittest.TestCase):
    def test_threads_share_rules(self):
        rules = tapster.open(overlays=[BRIEF])
        answers = []
        ask = lambda: answers.extend(first(rules.build(message="Hello.")) for _ in range(10))
        threads = [threading.Thread(target=ask) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        self.assertEqual(answers, ["Be brief."] * 40)

    def test_other_threads_go_on_and_ctrl_c_ends_long_calls(self):
        head = 'kind = "case"\nversion = 2\npack = "base"\n'
        case = '[[case]]\nname = "a"\nexpand = ["{{user}}"]\nexpect = { texts = ["User"] }\n'
        request = {"call": "test", "cases": [{"name": f"{n}.toml", "text": head + case} for n in range(10_000)]}
        ticks, sent = 0, []

        def tick():
            nonlocal ticks
            while time.monotonic() < begin + 1:
                ticks += 1
                time.sleep(0.001)
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        # a process in the background ignores the signal, and Python leaves it so
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        begin = time.monotonic()
        thread = threading.Thread(target=tick)
        thread.start()
        with self.assertRaises(KeyboardInterrupt):
            tapster.call(request)
        late = time.monotonic() - sent[0]
        thread.join()
        print(f"Ctrl-C ended a long call after {late * 1000:.0f} ms", file=sys.stderr)
        self.assertLess(late, 2)
        self.assertGreater(ticks, 50)


class Costs(unittest.TestCase):
    @unittest.skipUnless(resource, "memory is read as Unix tells it")
    def test_memory_stays_flat(self):
        cycles = int(os.environ.get("CYCLES", "30"))
        cycle = lambda: tapster.open(overlays=[BRIEF]).close()
        [cycle() for _ in range(max(20, cycles // 10))]
        # the most that was ever used, in KB; macOS tells bytes
        most = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)
        before, begin = most(), time.monotonic()
        [cycle() for _ in range(cycles)]
        grown = most() - before
        took = time.monotonic() - begin
        print(f"{cycles} times open and close: {took:.1f} s, {grown} KB more", file=sys.stderr)
        self.assertLess(grown, 16 << 10)

    def test_start(self):
        script = """
import time, json
a = time.perf_counter()
import tapster
b = time.perf_counter()
tapster.open().build(message="Hello.")
c = time.perf_counter()
print(json.dumps([b - a, c - b]))
"""
        runs = [json.loads(subprocess.check_output([sys.executable, "-c", script])) for _ in range(5)]
        load, build = (min(run[n] for run in runs) * 1000 for n in (0, 1))
        print(f"import {load:.0f} ms, first build {build:.0f} ms", file=sys.stderr)
        if os.environ.get("RELEASE"):
            self.assertLess(load, 30)
            self.assertLess(build, 100)


if __name__ == "__main__":
    unittest.main()
