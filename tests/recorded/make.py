"""Writes the documents of the recorded scenes into files/ and the scenes into cases.json, in the form that the recorder reads
(../../../shared/oracle/README.md). `python3 make.py OUT` also writes items/ and groups.json for the recorder's setup.mjs."""
import json
import os
import sys
import scenes
import third
from styles import cards2, foreign, masters2, positions, presets2
from texts import Words, bestiary, cards, harbour, houserules, presets

HERE = os.path.dirname(os.path.abspath(__file__))
SHIPPED = os.path.join(HERE, "../../../shared/real/sillytavern")
GROUPS = dict(g1=["tr-wick", "tr-marrow", "tr-isolde"], g2=["tr-pell", "tr-quern", "tr-odile", "tr-wick"], g3=["tr-odile", "tr-pell"])
CASES = []


def save(folder, name, value):
    os.makedirs(os.path.join(HERE, "files", folder), exist_ok=True)
    with open(os.path.join(HERE, "files", folder, name + ".json"), "w") as f:
        json.dump(value, f, ensure_ascii=False, indent=1)
        f.write("\n")


GROUPS.update(scenes.GROUPS | third.GROUPS)
CARDS, PRESETS = cards() | cards2() | third.cards3(), presets() | presets2() | third.presets3()
BOOKS = {"TR Harbour": harbour(), "TR Bestiary": bestiary(), "TR House Rules": houserules(), "PU Positions": positions(), "PU Foreign": foreign(), "PU Odd Lore": third.book3()}
MASTERS = {
    "TR Master": dict(
        instruct=dict(name="TR Master", input_sequence="<<{{user}}>>", output_sequence="<<{{char}}>>", last_output_sequence="<<{{char}}, {{random::softly::loudly}}>>", system_sequence="<<note>>", stop_sequence="<<end>>", wrap=True, macro=True,
                      names_behavior="always", activation_regex="", first_output_sequence="", skip_examples=False, output_suffix="<<end>>\n", input_suffix="<<end>>\n", system_suffix="<<end>>\n", user_alignment_message="[begin]",
                      system_same_as_user=False, last_system_sequence="", first_input_sequence="", last_input_sequence="", sequences_as_stop_strings=True, story_string_prefix="<<story>>", story_string_suffix="<<end>>"),
        context=dict(name="TR Master", story_string="{{#if system}}{{system}}\n{{/if}}{{#if wiBefore}}{{wiBefore}}\n{{/if}}{{#if description}}## {{char}}\n{{description}}\n{{/if}}{{#if personality}}Nature: {{personality}}\n{{/if}}{{#if scenario}}Scene: {{scenario}}\n{{/if}}{{#if wiAfter}}{{wiAfter}}\n{{/if}}{{#if persona}}## {{user}}\n{{persona}}\n{{/if}}{{trim}}",
                     example_separator="### Example", chat_start="### Now", use_stop_strings=True, names_as_stop_strings=True, story_string_position=1, story_string_depth=3, story_string_role=0, always_force_name2=True, trim_sentences=True, single_line=False)),
    "TR Legacy": dict(
        instruct=dict(name="TR Legacy", system_prompt="Old system prompt for {{char}}.", input_sequence="### Human", output_sequence="### {{char}}", last_output_sequence="", system_sequence="### System", stop_sequence="", wrap=False, macro=True, names=True,
                      names_force_groups=True, activation_regex="", system_sequence_prefix="[SYS]", system_sequence_suffix="[/SYS]", first_output_sequence="", skip_examples=True, output_suffix="\n", input_suffix="\n", system_suffix="\n",
                      user_alignment_message="", system_same_as_user=True, last_system_sequence=""),
        context=dict(name="TR Legacy", story_string="{{#if system}}{{system}}\n{{/if}}{{description}}\n{{personality}}\n{{scenario}}\n{{#if mesExamples}}{{mesExamples}}\n{{/if}}{{#if persona}}{{persona}}{{/if}}", example_separator="***", chat_start="***", use_stop_strings=False, allow_jailbreak=False, always_force_name2=False, trim_sentences=False, include_newline=False, single_line=False)),
}
MASTERS |= masters2() | third.masters3()
PERSONA = dict(name="Rook", description="{{user}} is a courier with a bad knee and a good memory.", position=0, depth=2, role=0)


def named(key):
    return CARDS[key]["data"]["name"]


def document(key):
    """A card, with the file name that the recorder gives it where filters of lore name it."""
    return {"$file": f"files/cards/{key}.json", **({"avatar": f"oc-{key}.png"} if key.startswith("pu-") else {})}


def draws(seed, count=250):
    r = Words(f"draws {seed}").r
    return [min(round(r.random(), 2), 0.99) for _ in range(count)]


def chat(seed, count, names=(), plain=False, reply=False):
    """A chat that ends with the user, or with a reply; hidden lines, a narrator and macros among it."""
    w, out = Words(f"chat {seed}"), []
    for n in range(count):
        user = (count - n) % 2 == (0 if reply else 1)
        m = dict(mes=(w.say() + "? " + w.fact()) if user else w.line() + ("\n\n" + w.fact() if n % 3 == 0 else ""))
        if user: m["is_user"] = True
        elif names: m["name"] = names[n // 2 % len(names)]
        if not plain:
            if n % 11 == 7: m.update(is_system=True)
            if n % 13 == 5: m.update(is_user=False, name="Narrator", extra=dict(type="narrator"), mes=w.fact())
            if n % 9 == 4: m["mes"] += " {{random::maybe::surely}}{{// aside }}"
            if n % 17 == 3: m["mes"] = "  " + m["mes"] + "\n"
        out.append(m)
    return out


def case(name, about, kind, preset=None, card=None, group=None, books=(), chat_book=None, persona_book=None, text_files=None, **given):
    c = dict(name=name, about=about, source="SillyTavern 1.19.0, recorded", items=[], kind=f"sillytavern-{kind}-completion", files={}, restRandom=0)
    i = dict(type="normal", persona=dict(PERSONA), random=draws(name))
    if kind == "chat":
        i.update(tokenizer="st", preset={"$file": f"files/presets/{preset}.json"}, max_context=32000, max_response=1200)
        c.update(preset_file=os.path.join(HERE, f"files/presets/{preset}.json"), preset_name=preset)
    else:
        i.update(tokenizer=dict(mode="bytes", per=3.35), max_context=16000, max_response=350)
        c["text_files"] = [dict(name=os.path.basename(p), path=os.path.normpath(os.path.join(HERE, p))) for p in text_files or []]
    if group:
        c.update(group_key=group, card_keys=GROUPS[group], names=[named(k) for k in GROUPS[group]])
        i["characters"] = [document(k) for k in GROUPS[group]]
        i["group"] = {}
    else:
        c.update(card_keys=[card], names=[named(card)])
        i["character"] = document(card)
    world = {}
    if books: world["global"] = [{"$file": f"files/books/{b}.json", "name": b} for b in books]
    if chat_book: world["chat"] = {"$file": f"files/books/{chat_book}.json", "name": chat_book}
    if persona_book: world["persona"] = {"$file": f"files/books/{persona_book}.json", "name": persona_book}
    settings = given.pop("settings", {})
    timed = given.pop("timed", None)
    if world or settings:
        world["settings"] = dict(dict(world_info_depth=4, world_info_budget=25), **settings)
    if timed: world["timed"] = timed
    if world: i["world_info"] = world
    c["files"].update({"global": list(books), **({"chatBook": chat_book} if chat_book else {}), **({"personaBook": persona_book} if persona_book else {})})
    for k in ("model", "nobook", "scoped", "presetRegex"):
        if k in given: c[k] = given.pop(k)
    for k, field in (("scoped", "allowed_character_regex"), ("presetRegex", "allowed_preset_regex")):
        if k in c: i[field] = c[k]
    for k, v in given.items():
        if isinstance(v, dict) and isinstance(i.get(k), dict): i[k].update(v)
        else: i[k] = v
    i.setdefault("chat", chat(name, 9))
    if name.startswith("pu-"):
        i["chat"] = [dict(m, send_date="2024-03-05T14:00:00.000Z") for m in i["chat"]]
        i["model"] = c.get("model", "oracle-model")
    c["input"] = i
    CASES.append(c)


NOTE = dict(prompt="[{{char}} is {{random::tired::awake}}; keep the {{getvar::len}} form.{{// note }}]", position=1, depth=2, role=0)
SCRIPTS = [
    dict(id="a1", scriptName="Drop asides", findRegex="/\\*[^*]{30,}\\*/g", replaceString="", trimStrings=[], placement=[2], disabled=False, markdownOnly=False, promptOnly=True, runOnEdit=True, substituteRegex=0, minDepth=3, maxDepth=None),
    dict(id="a2", scriptName="Name the tide", findRegex="tide", replaceString="<{{match}}>", trimStrings=["d"], placement=[1, 2, 5], disabled=False, markdownOnly=False, promptOnly=True, runOnEdit=True, substituteRegex=0, minDepth=None, maxDepth=None),
    dict(id="a3", scriptName="Off", findRegex="/./g", replaceString="X", trimStrings=[], placement=[1, 2, 3, 5], disabled=True, markdownOnly=False, promptOnly=False, runOnEdit=True, substituteRegex=0, minDepth=None, maxDepth=None),
    dict(id="a4", scriptName="For the eye", findRegex="/e/g", replaceString="3", trimStrings=[], placement=[1, 2], disabled=False, markdownOnly=True, promptOnly=False, runOnEdit=True, substituteRegex=0, minDepth=None, maxDepth=None),
]


def chats():
    long = "TR Lantern Works", "TR Cartographer XL", "TR Toggles"
    # every long preset with every type of generation
    for n, (preset, tag) in enumerate(zip(long, ("lantern", "cartographer", "toggles"))):
        solo = ["tr-wick", "tr-marrow", "tr-isolde"][n]
        case(f"{tag}-normal", "a long preset of toggles", "chat", preset, solo, user_input="Where were you, {{char}}?")
        case(f"{tag}-swipe", "the last reply is written anew", "chat", preset, solo, type="swipe", chat=chat(tag, 10, reply=True))
        case(f"{tag}-continue", "the last reply goes on", "chat", preset, solo, type="continue", chat=chat(tag, 10, reply=n != 1), books=["TR Harbour"])
        case(f"{tag}-impersonate", "the user's line is written", "chat", preset, solo, type="impersonate", authors_note=NOTE)
        case(f"{tag}-quiet", "a prompt of an extension", "chat", preset, solo, type="quiet", quiet=dict(prompt="Sum up what {{user}} knows in one line."))
        case(f"{tag}-regenerate", "the last reply is replaced", "chat", preset, solo, type="regenerate", chat=chat(tag, 12, reply=True), persona=dict(position=4, depth=1, role=1))
        case(f"{tag}-harbour", "a big lorebook of titles, groups, depths and outlets", "chat", preset, ["tr-pell", "tr-odile", "tr-quern"][n], books=["TR Harbour", "TR House Rules"], chat=chat(f"{tag} harbour", 24), authors_note=NOTE)
        case(f"{tag}-tight", "a budget that cuts the history", "chat", preset, solo, max_context=[3300, 3900, 4600][n], max_response=300, chat=chat(f"{tag} tight", 60), books=["TR Bestiary"], settings=dict(world_info_budget=10))
    case("quill-prefill-continue", "a continued message as the last one, squashed", "chat", "TR Quill", "tr-wick", type="continue", chat=chat("quill", 8, reply=True))
    case("quill-claude", "the same preset for Claude", "chat", "TR Quill", "tr-marrow", chat_completion_source="claude", model="claude-sonnet-4-5", authors_note=dict(NOTE, position=0))
    case("quill-gemini", "and for Gemini", "chat", "TR Quill", "tr-isolde", chat_completion_source="makersuite", model="gemini-2.5-pro", books=["TR House Rules"])
    case("quill-deepseek", "and for DeepSeek", "chat", "TR Quill", "tr-quern", chat_completion_source="deepseek", model="deepseek-chat")
    case("quill-semi", "half strict post-processing", "chat", "TR Quill", "tr-pell", custom_prompt_post_processing="semi", chat=chat("semi", 20))
    case("cartographer-strict", "strict post-processing of squashed messages", "chat", "TR Cartographer XL", "tr-marrow", custom_prompt_post_processing="strict", persona=dict(position=2), authors_note=NOTE)
    case("toggles-merge", "merging post-processing", "chat", "TR Toggles", "tr-odile", custom_prompt_post_processing="merge", chat_book="TR House Rules")
    case("plain-empty-chat", "nothing but the user's text", "chat", "TR Plain", "tr-quern", chat=[], user_input="Hello?")
    case("plain-waits", "an empty text behind a reply", "chat", "TR Plain", "tr-wick", chat=chat("waits", 8, plain=True))
    case("plain-impersonate-empty", "an empty impersonation prompt", "chat", "TR Plain", "tr-isolde", type="impersonate")
    case("plain-overrides", "a scenario, examples and a prompt of the chat", "chat", "TR Plain", "tr-marrow", chat_metadata=dict(scenario="The ferry burned down.{{// chat }}", mes_example="<START>\n{{user}}: Fire?\n{{char}}: Fire.", system_prompt="{{original}}You are {{char}}, wet and cold."))
    case("plain-blank-overrides", "overrides that expand to nothing", "chat", "TR Lantern Works", "tr-marrow", chat_metadata=dict(scenario="{{// none }}", mes_example="  ", system_prompt="{{trim}}"))
    case("lantern-regex", "regex scripts over prompt and lore", "chat", "TR Lantern Works", "tr-wick", regex_scripts=SCRIPTS, books=["TR Harbour"], chat=chat("regex", 16))
    case("lantern-persona-book", "a book of the persona, persona at a depth", "chat", "TR Lantern Works", "tr-odile", persona_book="TR House Rules", persona=dict(position=4, depth=3, role=2), settings=dict(world_info_recursive=False, world_info_character_strategy=2))
    case("toggles-timed", "sticky entries that are still on and cooling ones", "chat", "TR Toggles", "tr-wick", books=["TR Harbour"], chat=chat("timed", 20), timed=dict(sticky={"TR Harbour.6": dict(start=15, end=25), "TR Harbour.18": dict(start=1, end=5)}, cooldown={"TR Harbour.30": dict(start=18, end=30)}))
    case("toggles-scoring", "group scoring, minimum activations, no recursion limit", "chat", "TR Toggles", "tr-isolde", books=["TR Bestiary", "TR Harbour"], chat=chat("scoring", 14), settings=dict(world_info_use_group_scoring=True, world_info_min_activations=6, world_info_min_activations_depth_max=12, world_info_max_recursion_steps=0, world_info_case_sensitive=True))
    case("cartographer-mandatory", "what must be sent does not fit", "chat", "TR Cartographer XL", "tr-odile", max_context=700, max_response=200, chat=chat("mandatory", 6))
    case("lantern-examples-pinned", "examples before the history in a tight budget", "chat", "TR Lantern Works", "tr-wick", power_user=dict(pin_examples=True), max_context=3000, max_response=300, chat=chat("pinned", 40))
    case("lantern-note-character", "a note of the character", "chat", "TR Lantern Works", "tr-pell", authors_note=dict(NOTE, chara=dict(prompt="Pell: {{getvar::pov}}", useChara=True, position=2)))
    case("lantern-injections", "what extensions have registered", "chat", "TR Lantern Works", "tr-wick", extension_prompts=[dict(key="1_memory", value="[Summary: {{user}} arrived.]", position=1, depth=2, role=0, scan=True), dict(key="quest", value="Quest: find {{char}}'s {{random::key::bell}}", position=0), dict(key="1_memory", value="[Summary: {{user}} left.]", position=1, depth=2, role=1), dict(key="top", value="TOP", position=2)], books=["TR Harbour"])
    case("toggles-typed-bias", "a bias typed into a message", "chat", "TR Toggles", "tr-wick", user_input="Say it. {{bias \"Well, \"}}", chat=chat("bias", 6, plain=True))
    case("toggles-variables", "variables of the chat and of all chats", "chat", "TR Toggles", "tr-marrow", variables=dict(local=dict(pov="fourth", turns="7"), **{"global": dict(tone="loud")}))


def groups():
    names = lambda g: [CARDS[k]["data"]["name"] for k in GROUPS[g]]
    for n, (g, preset) in enumerate([("g1", "TR Lantern Works"), ("g2", "TR Toggles"), ("g3", "TR Cartographer XL"), ("g1", "TR Quill")]):
        line = chat(f"group {n}", 14, names(g))
        case(f"group-{n}-swap", "a member answers, cards apart", "chat", preset, group=g, speaker=names(g)[n % 2], group_=0, chat=line)
        case(f"group-{n}-joined", "cards joined", "chat", preset, group=g, speaker=names(g)[-1], chat=line, group_=1, books=["TR House Rules"])
    case("group-muted", "joined with the muted, prefix and suffix", "chat", "TR Lantern Works", group="g2", speaker="Pell", chat=chat("muted", 12, names("g2")), group_=dict(generation_mode=2, disabled_members=["Quern"], generation_mode_join_prefix="<{{char}} <FIELDNAME>>\n", generation_mode_join_suffix="\n</{{char}}>"), authors_note=NOTE)
    case("group-muted-apart", "joined without the muted", "chat", "TR Plain", group="g2", speaker="Odile", chat=chat("muted 2", 12, names("g2")), group_=dict(generation_mode=1, disabled_members=["Quern", "Wick"]))
    case("group-impersonate", "the user's line in a group", "chat", "TR Cartographer XL", group="g1", speaker="Wick", type="impersonate", chat=chat("group imp", 12, names("g1")))
    case("group-continue", "a member's line goes on", "chat", "TR Toggles", group="g1", speaker="Marrow", type="continue", chat=chat("group con", 12, names("g1"))[:11] + [dict(name="Marrow", mes="*Marrow stops at the door*")])
    case("group-overrides", "a scenario of the chat in a group", "chat", "TR Plain", group="g3", speaker="Odile", chat=chat("group ovr", 8, names("g3")), chat_metadata=dict(scenario="Both wait for {{user}}."))
    case("group-text", "text completion in a group", "text", group="g1", speaker="Marrow", chat=chat("group text", 12, names("g1")), text_files=["files/templates/TR Master.json"], shipped="TR Master", books=["TR Harbour"])
    case("group-text-joined", "text completion, cards joined", "text", group="g2", speaker="Pell", chat=chat("group text 2", 12, names("g2")), group_=1, shipped="TR Master", text_files=["files/templates/TR Master.json"])


def texts():
    """Every shipped instruct template with its context, by turns over cards, types and lore."""
    solo, types = ["tr-wick", "tr-marrow", "tr-isolde", "tr-pell", "tr-odile"], ["normal", "continue", "impersonate", "normal", "quiet", "swipe", "normal"]
    system = dict(name="TR system", content="Write {{char}}'s reply.{{// sys }} Mood: {{random::calm::tense}}.", post_history="")
    names = sorted(f[:-5] for f in os.listdir(os.path.join(SHIPPED, "instruct")))
    for n, name in enumerate(names):
        kind = types[n % len(types)]
        own = name if os.path.exists(os.path.join(SHIPPED, "context", name + ".json")) else ["Default", "Minimalist", "NovelAI", "OldDefault"][n % 4]
        more = dict(sysprompt=dict(system, post_history="[Stay in the scene.]" if n % 4 == 1 else "")) if n % 3 else {}
        if kind == "quiet": more["quiet"] = dict(prompt="Name three smells.")
        if n % 2: more["books"] = ["TR House Rules"] if n % 4 == 1 else ["TR Harbour"]
        if n % 5 == 2: more.update(authors_note=NOTE)
        if n % 6 == 4: more.update(persona=dict(position=4, depth=2, role=0))
        if n % 7 == 3: more.update(max_context=1400, max_response=200)
        case("text-" + name.lower().replace(" ", "-"), f"the shipped template {name}", "text", card=solo[n % 5], type=kind, chat=chat("text" + name, 7 + n % 3 * 8 - (n % 3 % 2), reply=kind in ("continue", "swipe")),
             text_files=[f"../../../shared/real/sillytavern/context/{own}.json", f"../../../shared/real/sillytavern/instruct/{name}.json"], shipped=name, own=own, **more)
    case("text-master", "a master export", "text", card="tr-marrow", text_files=["files/templates/TR Master.json"], shipped="TR Master", sysprompt=system, books=["TR Harbour"], chat=chat("master", 16))
    case("text-master-continue", "a master export, the reply goes on", "text", card="tr-isolde", type="continue", text_files=["files/templates/TR Master.json"], shipped="TR Master", chat=chat("master 2", 10, reply=True), authors_note=NOTE)
    case("text-no-instruct", "no instruct sequences", "text", card="tr-wick", text_files=["../../../shared/real/sillytavern/context/Default.json"], own="Default", sysprompt=system, chat=chat("bare", 12))
    case("text-no-instruct-tight", "the same, tight", "text", card="tr-odile", text_files=["../../../shared/real/sillytavern/context/OldDefault.json"], own="OldDefault", sysprompt=system, chat=chat("bare 2", 50), max_context=1500, max_response=200, books=["TR Bestiary"])


def shipped(folder, name):
    """What the case says of a template: a shipped one is read from the folder of real files when the case runs."""
    if name in MASTERS: return {"$file": f"files/templates/{name}.json", "$key": folder}
    return {"$file": f"../../../shared/real/sillytavern/{folder}/{name}.json"}


def main():
    for k, v in CARDS.items(): save("cards", k, v)
    for k, v in PRESETS.items(): save("presets", k, v)
    for k, v in BOOKS.items(): save("books", k, v)
    for k, v in MASTERS.items(): save("templates", k, v)
    chats(), groups(), texts()
    scenes.add(case, CARDS)
    third.add(case)
    for c in CASES:
        i = c["input"]
        name, own = i.pop("shipped", None), i.pop("own", None)
        if "text" in c["kind"]:
            if name: i["instruct"] = shipped("instruct", name)
            i["context"] = shipped("context", own or name)
            i.setdefault("sysprompt", None)
        if "group" in i:
            mode = i.pop("group_", 0)
            i["group"] = mode if isinstance(mode, dict) else dict(generation_mode=mode)
    out = sys.argv[1] if len(sys.argv) > 1 else None
    if out:
        os.makedirs(f"{out}/items", exist_ok=True)
        index = [dict(kind="card", key=k, file=os.path.join(HERE, f"files/cards/{k}.json")) for k in CARDS] + [dict(kind="lore", key=k, file=os.path.join(HERE, f"files/books/{k}.json")) for k in BOOKS]
        json.dump(index, open(f"{out}/items/index.json", "w"))
        json.dump(GROUPS, open(f"{out}/groups.json", "w"))
        made = json.load(open(f"{out}/setup.json")) if os.path.exists(f"{out}/setup.json") else None
        for c in CASES if made else []:
            found = [made["cards"][k]["avatar"] for k in c["card_keys"]]
            if "group_key" in c: c["files"].update(characters=found, group=made["groups"][c["group_key"]]["id"])
            else: c["files"]["character"] = found[0]
        json.dump(CASES, open(f"{out}/cases.json", "w"), ensure_ascii=False)
    print(len(CASES), "scenes")


main()
