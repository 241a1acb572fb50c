"""Scenes of the second collection (suites more_chat, more_groups, more_text), over the documents of styles.py."""

GROUPS = dict(p1=["pu-vesper", "pu-three", "pu-odd"], p2=["pu-shen", "pu-anna"], p3=["pu-warden", "pu-vesper", "pu-anna", "pu-shen"])
PERSONA = dict(name="Wren", description="{{user}} is a steward. {{random::Left::Right}}-handed.{{// p }}\n", position=0, depth=2, role=0)
NOTE = dict(prompt="[Style: {{getvar::style}}; {{char}} {{random::smiles::frowns}}.]\n", position=1, depth=1, role=0)
TURNS = [("user", "Is anyone there? Ask the steward, not me."), ("char", "*The lamp flickers.* “Only me,” {{char}} says.\n\n<status>HP 9</status>"), ("user", "  I cross the mill yard. {{random::Slowly::Fast}}  "), ("char", "Moss. The ferry bell rings. Old Tamsin waves; Sister Ilse does not."), ("narrator", "Night falls on the mill."), ("user", "Wren: Am I late?\nOr early?"),
         ("hidden", "OOC: ignore this {{setvar::secret::1}}"), ("char", "\n\n“Late,” says {{char}}. {{user}} nods…\n"), ("user", "钟响了。стой! {{char}}, 42 steps? {{// whisper }}"), ("char", "師父 — “Yes.” `code {{user}}` <b>bold</b>"), ("user", ""), ("char", "{{roll:1d20}} herons. *He spits.*"), ("user", "Then tell me about the tide."), ("char", "The tide is {{random::high::low}}. {{getvar::hp}}")]


def talk(count, end="user", names=(), names_user="Wren"):
    out = []
    for n in range(count):
        kind, mes = TURNS[n % len(TURNS)]
        m = dict(mes=mes)
        if kind == "user": m.update(is_user=True, name=names_user)
        if kind == "narrator": m.update(name="Narrator", extra=dict(type="narrator"))
        if kind == "hidden": m.update(is_system=True, name="System")
        if kind == "char" and names: m["name"] = names[n % len(names)]
        out.append(m)
    out.append(dict(mes="What now, {{char}}?", is_user=True, name=names_user) if end == "user" else dict(mes="So it begins, {{user}}. *{{char}} waits* ", **({"name": names[0]} if names else {})))
    return out


def add(case, cards):
    P = dict(PERSONA)
    kinds = ["normal", "swipe", "continue", "impersonate", "quiet", "regenerate"]
    presets = ["PU Weave", "PU Wrap", "PU Reorder", "PU Default Order", "PU Old"]
    solo = ["pu-vesper", "pu-odd", "pu-warden", "pu-three", "pu-shen", "pu-anna"]

    def scene(name, about, kind, *a, **more):
        more.setdefault("persona", P)
        case("pu-" + name, about, kind, *a, **more)

    # chat completion: presets by types, by turns over the cards
    n = 0
    for preset in presets:
        tag = preset[3:].lower().replace(" ", "-")
        for t in kinds if preset in ("PU Weave", "PU Reorder") else kinds[n % 2::2]:
            more = {}
            if t == "quiet": more["quiet"] = dict(prompt="{{char}}: list {{user}}'s items.{{// q }}", **([{}, dict(skip_wian=True), dict(to_loud=True), dict(name="Clerk")][n % 4]))
            if n % 3 == 0: more["books"] = ["PU Positions"]
            if n % 4 == 1: more["authors_note"] = dict(NOTE, position=n % 3, interval=[1, 2, 3][n % 3])
            if t == "normal": more["user_input"] = "  I knock. {{roll:1d6}} times\n"
            if n % 5 == 3: more["persona"] = dict(P, position=[2, 3, 4][n % 3], depth=1, role=n % 3)
            scene(f"{tag}-{t}", f"{preset}, {t}", "chat", preset, solo[n % 6], type=t, chat=talk(5 + n % 9, "char" if t in ("swipe", "continue", "regenerate") else "user"), **more)
            n += 1
    for k, card in enumerate(solo):
        scene(f"weave-book-{card[3:]}", "all positions of lore", "chat", "PU Weave", card, chat=talk(12), books=["PU Positions", "PU Foreign"], authors_note=dict(NOTE, position=k % 3), persona=dict(P, position=[0, 2, 3, 4, 9, 0][k]), scoped=k % 2 == 0, presetRegex=k % 3 == 0,
              settings=[dict(), dict(world_info_recursive=False), dict(world_info_include_names=False, world_info_character_strategy=0), dict(world_info_depth=1, world_info_min_activations=30), dict(world_info_budget=3), dict(world_info_budget_cap=200, world_info_character_strategy=2, world_info_max_recursion_steps=2)][k])
    for k, power in enumerate([dict(collapse_newlines=True), dict(strip_examples=True), dict(prefer_character_prompt=False, prefer_character_jailbreak=False), dict(user_prompt_bias="So, {{char}} says "), dict(pin_examples=True), dict(collapse_newlines=True, pin_examples=True)]):
        scene(f"power-{k}", "a setting of the user: " + ", ".join(power), "chat", presets[k % 3], solo[k], power_user=power, chat=talk(9), reasoning=dict(add_to_prompts=True, max_additions=2))
    for k, (ctx, out) in enumerate([(900, 100), (1300, 200), (1800, 300), (2500, 300)]):
        scene(f"tight-{ctx}", "a tight budget", "chat", presets[k % 3], solo[(k + 2) % 6], max_context=ctx, max_response=out, chat=talk(40), books=["PU Positions"] if k > 1 else [])
    thoughts = talk(9)
    for m in thoughts:
        if not m.get("is_user") and "extra" not in m: m["extra"] = dict(reasoning="{{char}} thinks of {{user}}…\nhm", bias=" Well,")
    scene("reasoning", "stored thoughts are sent", "chat", "PU Wrap", "pu-odd", chat=thoughts, reasoning=dict(add_to_prompts=True, max_additions=3, prefix="<t>\n", suffix="\n</t>", separator="\n\n"))
    scene("continue-reasoning", "thoughts of a continued message", "chat", "PU Weave", "pu-odd", type="continue", chat=talk(3) + [dict(mes="I ", extra=dict(reasoning="half"))], reasoning=dict(add_to_prompts=True, max_additions=1))
    for k, (post, preset) in enumerate([("merge", "PU Weave"), ("semi", "PU Wrap"), ("strict", "PU Reorder"), ("single", "PU Weave")]):
        scene(f"post-{post}", "post-processing", "chat", preset, solo[k], custom_prompt_post_processing=post, chat=talk(8), books=["PU Foreign"])
    for source, model, preset in [("claude", "claude-opus-4-1", "PU Reorder"), ("claude", "claude-sonnet-4-5", "PU Weave"), ("makersuite", "gemini-2.5-flash", "PU Reorder"), ("deepseek", "deepseek-reasoner", "PU Weave")]:
        scene(f"{source}-{preset[3:].lower()}", f"for {model}", "chat", preset, "pu-warden", chat_completion_source=source, model=model, chat=talk(7), type="continue" if preset == "PU Weave" and source == "claude" else "normal")
    ext = [dict(key="1_memory", value="Summary: {{random::a::b}}{{trim}} \n", position=2, depth=0, role=0), dict(key="bank", value="Bank {{char}}", position=1, depth=4, role=0, scan=True), dict(key="zeta", value="\nZ {{user}}", position=1, depth=0, role=1), dict(key="alpha", value="A {{getvar::style}}", position=1, depth=0, role=1), dict(key="10", value="ten", position=0), dict(key="none", value="lich moss", position=-1, scan=True)]
    for k, preset in enumerate(presets[:4]):
        scene(f"extensions-{k}", "prompts of extensions", "chat", preset, solo[k], extension_prompts=ext, books=["PU Positions"], chat=talk(6), authors_note=dict(NOTE, depth=0, allow_wi_scan=True))
    scene("card-note", "a note of the character, added before", "chat", "PU Wrap", "pu-vesper", authors_note=dict(NOTE, interval=2, chara=dict(prompt="Own note {{char}}{{trim}}\n", useChara=True, position=1)), chat=talk(6))
    scene("empty-chat", "no messages at all", "chat", "PU Weave", "pu-anna", chat=[], user_input="")
    scene("one-reply", "only a greeting, continued", "chat", "PU Wrap", "pu-shen", type="continue", chat=[dict(mes="「进来。」")])
    scene("greeting", "only a greeting and a question", "chat", "PU Default Order", "pu-three", chat=[dict(mes="...")], user_input="Hello {{char}}{{char}}")

    # groups
    names = lambda g: [cards[k]["data"]["name"] for k in GROUPS[g]]
    n = 0
    for g in GROUPS:
        for t in ("normal", "swipe", "continue", "impersonate", "quiet"):
            preset, mode = presets[n % 4], n % 3
            end = "char" if t in ("swipe", "continue") else "user"
            who = names(g)[n % len(names(g))]
            line = talk(6 + n % 5, end, names(g))
            if end == "char": line[-1]["name"] = who
            scene(f"group-{g}-{t}", f"a group, {t}, mode {mode}", "chat", preset, group=g, speaker=who, type=t, chat=line, group_=dict(generation_mode=mode, **([{}, dict(generation_mode_join_prefix="## {{char}} <FIELDNAME>:\n", generation_mode_join_suffix="\n-{{user}}-\n"), dict(disabled_members=[names(g)[-1]] if who != names(g)[-1] else [])][n % 3])),
                  books=["PU Foreign"] if n % 2 else [], authors_note=NOTE if n % 3 == 1 else {}, **(dict(quiet=dict(prompt="Sum up, {{group}}.")) if t == "quiet" else {}))
            n += 1
    for k, (g, t) in enumerate([("p1", "normal"), ("p2", "continue"), ("p3", "normal"), ("p1", "swipe"), ("p2", "impersonate")]):
        master, end = ["PU Turns", "PU Derived", "PU Roles", "PU Raw", "PU Turns"][k], "char" if t in ("swipe", "continue") else "user"
        line = talk(8, end, names(g))
        if end == "char": line[-1]["name"] = names(g)[0]
        scene(f"group-text-{k}", f"a group in text completion, {t}", "text", group=g, speaker=names(g)[0], type=t, chat=line, group_=dict(generation_mode=k % 3), shipped=master, text_files=[f"files/templates/{master}.json"])

    # text completion
    n = 0
    for master in ("PU Turns", "PU Roles", "PU Raw", "PU Ancient", "PU Derived"):
        for t in kinds:
            more = {}
            if t == "quiet": more["quiet"] = dict(prompt="{{char}}: list {{user}}'s items.{{// q }}", **([{}, dict(skip_wian=True), dict(to_loud=True), dict(name="Clerk")][n % 4]))
            if n % 2: more["books"] = ["PU Positions", "PU Foreign"] if n % 4 == 1 else ["PU Foreign"]
            if n % 3 == 1: more["authors_note"] = dict(NOTE, position=n % 3, depth=n % 4, role=n % 3, interval=[1, 2, 3][n // 3 % 3])
            if n % 4 == 2: more["persona"] = dict(P, position=[2, 3, 4][n // 4 % 3], depth=1, role=n % 3)
            if n % 5 == 4: more["extension_prompts"] = ext
            if n % 5 != 2: more["sysprompt"] = dict(name="s", content="System of {{char}}. {{random::One::Two}}\n", post_history="{{// ph }}After {{user}}." if n % 3 == 0 else "")
            if n % 7 == 5: more.update(max_context=1100, max_response=150)
            if n % 6 == 3: more["power_user"] = dict(collapse_newlines=True)
            if n % 6 == 5: more["power_user"] = dict(user_prompt_bias="Well, {{char}} ")
            if n % 8 == 6: more["power_user"] = dict(custom_stopping_strings='["{{user}} says", "\\n\\n{{random::a::b}}"]', custom_stopping_strings_macro=True)
            if n % 9 == 7: more["power_user"] = dict(pin_examples=True)
            if n % 9 == 8: more["power_user"] = dict(strip_examples=True)
            if t == "normal": more["user_input"] = "  I knock. {{roll:1d6}} times\n"
            scene(f"text-{master[3:].lower()}-{t}", f"{master}, {t}", "text", card=solo[n % 6], type=t, chat=talk(5 + n % 9, "char" if t in ("swipe", "continue", "regenerate") else "user"), text_files=[f"files/templates/{master}.json"], shipped=master, **more)
            n += 1
    for master in ("PU Turns", "PU Roles", "PU Raw"):
        scene(f"text-{master[3:].lower()}-empty", "an empty chat", "text", card="pu-three", chat=[], user_input="", text_files=[f"files/templates/{master}.json"], shipped=master)
        scene(f"text-{master[3:].lower()}-thoughts", "stored thoughts are sent", "text", card="pu-anna", chat=thoughts, reasoning=dict(add_to_prompts=True, max_additions=3, prefix="<t>\n", suffix="\n</t>", separator="\n\n"), text_files=[f"files/templates/{master}.json"], shipped=master)
