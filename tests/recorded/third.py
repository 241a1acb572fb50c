"""Documents and scenes of the third collection: presets of scripts and toggles, nested macros, odd lore, odd instruct templates."""
from styles import C, I, made, v2

GROUPS = dict(q1=["pu-qkeeper", "pu-qmirror"], q2=["pu-qmirror", "pu-qkeeper", "pu-qdoctor"])
S = dict(trimStrings=[], disabled=False, markdownOnly=False, promptOnly=True, runOnEdit=True, substituteRegex=0, minDepth=None, maxDepth=None)


def script(n, find, replace, placement, **more):
    return dict(S, id=f"q{n}", scriptName=f"Q {n}", findRegex=find, replaceString=replace, placement=placement, **more)


def cards3():
    keeper = ("<npc name=\"{{char}}\">\n{{setvar::mood::{{random::calm::restless}}}}Mood: {{getvar::mood}}\n{{if {{getvar::mood}}}}She counts steps ({{.steps = 3}}{{.steps++}}{{.steps}}).{{else}}Nothing.{{/if}}\n"
              "{{pick::copper::tin::glass}} key, {{roll 1d8}} doors, {{reverse:pets}}, {{trim}}\n\n</npc>\n{{{{random::user::char}}}} and {{ user }} and <CHARIFNOTGROUP>")
    return {
        "pu-qkeeper": v2("Maud Keeper", description=keeper, personality="{{getvar::mood}}, {{//hidden}}exact", scenario="{{addvar::visits::1}}Visit {{getvar::visits}}. {{// none }}", first_mes="*Maud looks up.* {{getvar::mood}}?", alternate_greetings=["{{incvar::visits}}Again.", ""], creator_notes="Use {{random::big::small}} models.",
            mes_example="{{user}}: Stairs?\n{{char}}: {{random::Up::Down}}.\n<START>\n{{char}}: First line.\n{{user}}: Second.\n{{user}}: Third.\nMaud Keeper says nothing.\n<START>\n\n<START>\nNobody speaks here.", system_prompt="Card main. {{original}}", post_history_instructions="Stay {{getvar::mood}}. {{original}}",
            extensions=dict(depth_prompt=dict(prompt="{{char}} holds the {{random::lamp::rope}}.", depth=1, role="user"), talkativeness="0.3",
                            regex_scripts=[script(1, "/<status>[\\s\\S]*?<\\/status>/g", "", [2], minDepth=2), script(2, "{{user}}", "the visitor", [2], substituteRegex=1), script(3, "/(\\bstep)s?\\b/gi", "$1(s) {{match}}", [1, 2, 5], trimStrings=["{{char}}"])]),
            character_book=dict(name="Maud's Book", scan_depth=2, token_budget=300, recursive_scanning=True, extensions={}, entries=[
                dict(keys=["steps", "{{user}}"], secondary_keys=["door", "lamp"], selective=True, content="The steps are {{random::wet::dry}}. Ask about the rope.", enabled=True, insertion_order=50, position="", extensions=dict(position=0, selectiveLogic=0, group="s,t", group_weight=30), id=1, comment="steps"),
                dict(keys=["rope"], content="{{setvar::rope::seen}}The rope is frayed.", enabled=True, insertion_order=50, position="after_char", extensions=dict(position=1, prevent_recursion=False, delay_until_recursion=True, group="t", group_override=True), id=2, priority=10),
                dict(keys=["frayed"], content="Frayed things {{getvar::rope}} break.", enabled=True, insertion_order=51, extensions=dict(position=4, depth=0, role=1, delay_until_recursion=2), id=3),
                dict(keys=["door"], content="Doors: {{roll:2d4}}.", enabled=True, insertion_order=1, extensions=dict(position=2, probability=55, useProbability=True), id=4),
                dict(keys=["lamp"], content="{{char}}: A lamp line.", enabled=True, insertion_order=2, extensions=dict(position=5), id=5),
                dict(keys=["lamp"], content="<START>\n{{user}}: Lower lamp?\n{{char}}: {{random::Yes::No}}.", enabled=True, insertion_order=3, extensions=dict(position=6), id=6)])),
        "pu-qmirror": v2("Mirror", description="{{char}} shows {{user}} only {{random::backs::fronts}}.\n\nMembers: {{group}}; not: {{notChar}}; {{charIfNotGroup}}", personality="", scenario="{{getvar::visits}}", first_mes="…", mes_example="<START>\nMaud Keeper: Who?\nMirror: You.\n{{user}}: Me?", system_prompt="", post_history_instructions="{{// only a comment }}", extensions=dict(depth_prompt=dict(prompt="Mirror is {{random::clean::dusty}}.", depth=4, role="assistant"))),
        "pu-qdoctor": v2("Dr. Hale", description="Name: Dr. Hale\nAge: {{roll:1d20}}\r\nJob: doctor to {{user}}\n\n\n\nLikes: [tea, {{random:maps,bones}}]", personality="dry\n\n\nkind", scenario=" \n", first_mes="Sit.", mes_example="Dr. Hale: Sit down.\nWren: I'd rather stand.\n", system_prompt="You are {{char}}.", post_history_instructions="[Short.]"),
    }


def book3():
    rows = [
        dict(key=["/step(s|ped)\\b/i", "door"], keysecondary=["lamp"], selective=True, selectiveLogic=1, content="NOT ALL lamp {{random::a::b}}", order=10, position=0, comment="One"),
        dict(key=["mill", "Ask"], content="Mill {{lastMessageId}} {{char}}", order=10, position=4, depth=2, role=0, comment="Two", sticky=3, cooldown=2),
        dict(key=["steward"], keysecondary=["lamp", "bell"], selective=True, selectiveLogic=2, content="NOT ANY\n", order=99, position=1, group="g1", groupWeight=70, useGroupScoring=True, comment="Three"),
        dict(key=["steward", "Ask"], content="Scored", order=98, position=1, group="g1", groupWeight=30, useGroupScoring=True, comment="Four"),
        dict(key=[], constant=True, content="{{outlet::deep}}Outlet user {{random::x::y}}", order=5, position=1, comment="Five"),
        dict(key=[], constant=True, content="Deep {{random::p::q}}", order=5, position=7, outletName="deep", comment="Six"),
        dict(key=["Deep"], content="Found by recursion.", order=5, position=3, excludeRecursion=False, preventRecursion=True, comment="Seven"),
        dict(key=["recursion"], content="Never by prevented.", order=5, position=2, comment="Eight"),
        dict(key=["bell", "water"], content="Bell or water. {{trim}}\n\n", order=40, position=0, probability=60, useProbability=True, triggers=["normal", "swipe"], comment="Nine"),
        dict(key=["Late"], caseSensitive=True, matchWholeWords=False, content="“Late”.", order=41, position=4, depth=4, role=2, comment="Ten"),
        dict(key=["visitor"], matchPersonaDescription=True, content="Visitor known.", order=42, position=4, depth=4, role=2, comment="Eleven"),
        dict(key=["big", "small"], matchCreatorNotes=True, content="Notes matched.", order=43, position=0, comment="Twelve"),
        dict(key=["night"], scanDepth=1, content="Shallow.", order=44, position=0, comment="Thirteen"),
        dict(key=["doctor"], matchCharacterDescription=True, ignoreBudget=True, content="Doctor's lore {{roll:1d4}}.", order=45, position=1, comment="Fourteen"),
        dict(key=["moss"], vectorized=True, delay=3, content="Moss later.", order=45, position=1, comment="Fifteen", characterFilter=dict(isExclude=True, names=["oc-pu-qmirror"], tags=[])),
        dict(key=["x"], disable=True, content="Off", order=1, position=0, comment="Sixteen"),
    ]
    base = dict(keysecondary=[], constant=False, vectorized=False, selective=True, selectiveLogic=0, addMemo=True, excludeRecursion=False, preventRecursion=False, delayUntilRecursion=False, probability=100, useProbability=True, depth=4, group="", groupOverride=False, groupWeight=100, scanDepth=None, caseSensitive=None, matchWholeWords=None,
                useGroupScoring=None, automationId="", role=None, sticky=0, cooldown=0, delay=0, disable=False, ignoreBudget=False, triggers=[])
    return dict(entries={str(n): dict(base, uid=n, displayIndex=n, **row) for n, row in enumerate(rows)})


def presets3():
    at = lambda depth, order=100, **m: dict(injection_position=1, injection_depth=depth, injection_order=order, **m)
    nest = [("main", "system", "{{setvar::a::{{setvar::b::{{random::north::south}}}}{{getvar::b}}-{{char}}}}A={{getvar::a}} B={{getvar::b}}\n{{if {{getvar::zz}}}}zz{{else}}{{if {{getvar::a}}}}in{{/if}}{{/if}}{{trim}}\n\n{{$count = 4}}{{$count--}}{{$count}}", True),
            ("sum", "system", "{{summary}}|{{charPrompt}}|{{charInstruction}}|{{mesExamples}}", True), ("empty user", "user", "{{setvar::c::1}}", True), ("off", "system", "{{setvar::c::2}}", False),
            "worldInfoBefore", ("p", "user", "P {{getvar::c}} {{persona}}", True, dict(forbid_overrides=True)), "charDescription", "charPersonality", "personaDescription", "scenario", ("nsfw", "assistant", "{{getvar::c}}{{newline}}{{lastSwipeId}}/{{currentSwipeId}}", True), "worldInfoAfter", "dialogueExamples",
            ("d0", "user", "{{incvar::c}}d0 {{lastUserMessage}}", True, at(0, 50)), ("d0b", "assistant", "d0b {{decvar::c}}", True, at(0, 50)), ("d0c", "user", "\n{{trim}}\nd0c", True, at(0, 50)), ("d3", "system", "{{getvar::c}} at three", True, at(3, 200)), ("d3b", "system", "{{deletevar::c}}{{getvar::c}}", True, at(3, 200)),
            "chatHistory", ("imp", "user", "Only impersonating {{user}}.", True, dict(injection_trigger=["impersonate", "quiet"])), ("reg", "system", "Only again.", True, dict(injection_trigger=["regenerate", "swipe"])), ("jailbreak", "system", "JB {{original}}", True, dict(forbid_overrides=True)), ("end", "system", "{{lastCharMessage}}", True)]
    bare = ["chatHistory", ("main", "user", "{{trim}}{{// nothing }}", True), "charDescription", ("a", "assistant", "{{charIfNotGroup}} says {{group}}.", True), "dialogueExamples", "worldInfoAfter", ("jailbreak", "assistant", "{{user}}:", True, at(1)), "worldInfoBefore", "personaDescription"]
    scripts = [script(11, "/\\[(.*?)\\]/g", "($1)", [5]), script(12, "/\\b(\\w+) bell\\b/", "$1 gong {{getvar::b}}", [1, 2], maxDepth=3), script(13, "/\\s+$/", "", [1]), script(14, "/“([^”]+)”/gu", "\"$1\"", [2, 6], minDepth=1), script(15, "Wren", "{{char}}", [1, 5], substituteRegex=2)]
    return {
        "PU Nest": made(nest, dict(squash_system_messages=True, names_behavior=2, wi_format="{0}", scenario_format="[{{scenario}}]", personality_format="<{{personality}}>", new_chat_prompt="[{{char}} & {{group}}]", new_example_chat_prompt="[Ex {{random::1::2}}]", continue_nudge_prompt="[Go on: {{lastChatMessage}}]", impersonation_prompt="[{{user}} speaks {{getvar::b}}]",
                                      send_if_empty="", extensions=dict(regex_scripts=scripts))),
        "PU Bare": made(bare, dict(squash_system_messages=False, names_behavior=1, wi_format="", scenario_format="{{scenario}}", personality_format="{{personality}}", new_chat_prompt="{{// x }}", new_example_chat_prompt="***", continue_prefill=True, continue_postfix="\n", send_if_empty="(waits {{random::long::short}})", group_nudge_prompt="", impersonation_prompt="")),
    }


def masters3():
    return {
        "PU Odd": dict(instruct=dict(I, name="PU Odd", input_sequence="\n<|{{user}}|>\n", output_sequence="\n<|{{char}}|>\n", first_input_sequence="\n<|first {{name}}|>", last_input_sequence="<|last in {{random::1::2}}|>", first_output_sequence="<|first out|>", last_output_sequence="<|{{name}} now|>\n<think>\n\n</think>", system_sequence="<|sys {{name}}|>", last_system_sequence="<|last sys|>",
                                     input_suffix="<|/in|>\n", output_suffix="<|/out {{random::a::b}}|>", system_suffix="", stop_sequence="<|/out", wrap=False, names_behavior="none", user_alignment_message="Begin, {{char}}.", sequences_as_stop_strings=True, story_string_prefix="<|story {{name}}|>", story_string_suffix="<|/story|>\n", skip_examples=False),
                       context=dict(C, name="PU Odd", story_string="{{#if anchorBefore}}{{anchorBefore}}\n{{/if}}{{system}}{{#unless scenario}}No scene.{{/unless}}\n{{#if loreBefore}}<{{loreBefore}}>{{/if}}{{description}}\n{{mesExamplesRaw}}{{#each nothing}}x{{/each}}{{persona}}{{#if anchorAfter}}\n{{anchorAfter}}{{/if}}{{trim}}", example_separator="", chat_start="[{{char}} starts]", use_stop_strings=True, story_string_position=1, story_string_depth=2, story_string_role=1, always_force_name2=False, single_line=True)),
        "PU Plainest": dict(instruct=dict(I, name="PU Plainest", input_sequence="USER: ", output_sequence="BOT: ", system_sequence="", system_same_as_user=True, input_suffix="\n", output_suffix="</s>\n", wrap=False, macro=False, names_behavior="always", last_output_sequence="BOT ({{char}}): ", skip_examples=True, sequences_as_stop_strings=False),
                            context=dict(C, name="PU Plainest", story_string="{{#if system}}{{system}}{{/if}}{{#if wiBefore}}{{wiBefore}}{{/if}}{{description}} {{personality}} {{scenario}}\n{{#if mesExamples}}{{mesExamples}}{{/if}}", example_separator="---\n", chat_start="{{// none }}", names_as_stop_strings=False, trim_sentences=True)),
    }


def add(case):
    from scenes import NOTE, PERSONA, talk
    n = 0

    def scene(name, about, kind, *a, **more):
        more.setdefault("persona", PERSONA)
        case("pu-q-" + name, about, kind, *a, **more)
    solo = ["pu-qkeeper", "pu-qmirror", "pu-qdoctor"]
    for preset in ("PU Nest", "PU Bare"):
        for t in ("normal", "swipe", "continue", "impersonate", "quiet", "regenerate"):
            more = dict(quiet=dict(prompt="Describe {{user}} in {{roll:1d9}} words.")) if t == "quiet" else {}
            if n % 2 == 0: more["books"] = ["PU Odd Lore"]
            if n % 3 == 1: more.update(authors_note=dict(NOTE, position=n % 3, depth=n % 4, role=n % 3))
            if n % 4 == 3: more.update(persona=dict(PERSONA, position=[2, 4, 3][n % 3], depth=n % 2, role=2))
            if n % 5 == 2: more.update(user_input="I ring the old bell, {{char}}. \n") if t == "normal" else None
            scene(f"{preset[3:].lower()}-{t}", f"{preset}, {t}", "chat", preset, solo[n % 3], type=t, scoped=n % 2 == 0, presetRegex=n % 3 != 2, chat=talk(5 + n, "char" if t in ("swipe", "continue", "regenerate") else "user"), **more)
            n += 1
    names = dict(q1=["Maud Keeper", "Mirror"], q2=["Mirror", "Maud Keeper", "Dr. Hale"])
    for k, (g, t, preset) in enumerate([("q1", "normal", "PU Nest"), ("q2", "normal", "PU Bare"), ("q1", "impersonate", "PU Bare"), ("q2", "swipe", "PU Nest")]):
        line = talk(7, "char" if t == "swipe" else "user", names[g])
        if t == "swipe": line[-1]["name"] = names[g][k % 2]
        scene(f"group-{k}", f"a group, {t}", "chat", preset, group=g, speaker=names[g][k % 2], type=t, chat=line, group_=dict(generation_mode=[1, 0, 2, 1][k], **(dict(generation_mode_join_prefix="{{char}}/<FIELDNAME>: ") if k == 0 else {})), books=["PU Odd Lore"])
    for k, (master, t) in enumerate([("PU Odd", "normal"), ("PU Odd", "continue"), ("PU Odd", "impersonate"), ("PU Odd", "quiet"), ("PU Plainest", "normal"), ("PU Plainest", "swipe"), ("PU Plainest", "impersonate"), ("PU Plainest", "continue")]):
        more = dict(quiet=dict(prompt="List the {{random::doors::steps}}.")) if t == "quiet" else {}
        if k % 2 == 0: more.update(books=["PU Odd Lore"], sysprompt=dict(name="s", content="{{random::One::Two}} {{original}} {{char}}\n", post_history="PH {{random::c::d}}"))
        if k % 3 == 1: more.update(authors_note=NOTE)
        scene(f"text-{k}", f"{master}, {t}", "text", card=solo[k % 3], type=t, chat=talk(6 + k, "char" if t in ("swipe", "continue") else "user"), text_files=[f"files/templates/{master}.json"], shipped=master, **more)
    scene("text-group", "a group in text completion", "text", group="q2", speaker="Mirror", chat=talk(7, "user", names["q2"]), group_=dict(generation_mode=1), shipped="PU Odd", text_files=["files/templates/PU Odd.json"])
