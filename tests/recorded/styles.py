"""Documents of the second collection: cards, lorebooks, presets and templates in the habits of different groups of authors
(attribute lists, game masters, old exports, Chinese and Russian texts, presets made of variables). Written for this collection."""
from texts import MARKERS, Words, entry


def plain(text):
    return text.replace("{{{{", "{{").replace("}}}}", "}}")


# ---------------------------------------------------------------------------------------------------------------- cards
def v2(name, **more):
    data = dict(name=name, description="", personality="", scenario="", first_mes="", mes_example="", creator_notes="", system_prompt="", post_history_instructions="", alternate_greetings=[], tags=[], creator="", character_version="", extensions={})
    data.update(more)
    return dict(spec="chara_card_v2", spec_version="2.0", data=data)


def scripts(prefix):
    base = dict(trimStrings=[], disabled=False, markdownOnly=False, promptOnly=True, runOnEdit=True, substituteRegex=0, minDepth=None, maxDepth=None)
    return [
        dict(base, id=prefix + "1", scriptName="Drop status blocks", findRegex="/<status>[\\s\\S]*?<\\/status>/gi", replaceString="", placement=[2], minDepth=2),
        dict(base, id=prefix + "2", scriptName="Name in brackets", findRegex="/\\b({{char}})\\b/g", replaceString="[$1|{{user}}]", placement=[1, 2], substituteRegex=1),
        dict(base, id=prefix + "3", scriptName="Curly quotes", findRegex="[“”]", replaceString='"', placement=[1, 2, 5], promptOnly=True),
        dict(base, id=prefix + "4", scriptName="Named groups", findRegex="/(?<who>Old|Sister) (\\w+)/g", replaceString="$<who>. {{match}} ($2)", placement=[2, 5], trimStrings=["Old "]),
        dict(base, id=prefix + "5", scriptName="Only shown", findRegex="/a/g", replaceString="@", placement=[1, 2], markdownOnly=True, promptOnly=False),
    ]


def cards2():
    w = Words("cards two")
    attributes = ("[character(\"Vesper\")\r\n{\r\nSpecies(\"Human\" + \"Heron-blooded\")\r\nMind(\"Patient\" + \"{{random:quiet,loud}}\")\r\nLikes(\"<USER>\" + \"tide tables\")\r\n"
                  "Occupation(\"<BOT> keeps the lamp\" + \"{{pick::night::day}} shift\")\r\n}]\r\n\r\n<START>\r\n\r\n")
    warden = ("# The Warden's Ledger\n***\n{{setvar::hp::{{roll:2d6+3}}}}{{setvar::gold::12}}\n| stat | value |\n|---|---|\n| HP | {{getvar::hp}} |\n| Gold | {{getvar::gold}} |\n\n"
              "```json\n{\"npc\": {\"name\": \"Dagny\", \"mood\": {\"a\": 1}}, \"pc\": \"{{user}}\"}\n```\n<details><summary>Rules</summary>\n{{char}} is the narrator, not a person. Time: {{time}} on {{weekday}}, {{date}}.\n</details>\n\n\n\n")
    many = ("{{char}} is a set of three people:\n\n**Tamsin** – ferrier. Loves {{user}}'s boots.\n**Joss** – {{#if {{getvar::joss}}}}gone{{else}}here{{/if}}.\n**Ennis** – {{ reverse : sinnE }} {{Char}} {{CHAR}} {{ char }} {{{char}}} {{char}} }} {{unknown::x}} {{user:1}}\n"
            "{{// a comment\nof two lines }}\n\nThey meet on {{isodate}} at {{isotime}}.")
    chinese = "姓名:{{char}}\n性格:冷静、{{random::温柔::严厉}}\n\n{{char}}住在河边的钟楼里,每天{{roll:1d4}}次敲钟。{{user}}是他的学徒。"
    return {
        "pu-vesper": dict(spec="chara_card_v3", spec_version="3.0", data=dict(v2("Vesper Lind")["data"], description=attributes, personality="Patient; curious.\r\nNever rude.", scenario="<USER> visits <BOT> in the lamp room.\r\n", first_mes="*<BOT> lifts the lamp.* “You came.”",
            mes_example="<START>\r\n{{user}}: Is it cold?\r\n{{char}}: *smiles* “Always.”\r\n<START>\r\n<USER>: And dark?\r\n<BOT>: {{random: Yes, No, Perhaps}}.\r\n", nickname="Vess", group_only_greetings=["*waves*"], alternate_greetings=["“Late again, {{user}}?”"], creator_notes="{{incvar::seen}}For long chats.",
            system_prompt="{{original}} Write as Vesper. {{// card }}", post_history_instructions="{{original}}\n[Vesper keeps {{getvar::tone}}.]\n", assets=[], tags=["v3"], character_version="main", creation_date=1700000000,
            extensions=dict(depth_prompt=dict(prompt="[Vesper is near the {{random::stairs::window}}. {{trim}}\n]", depth=3, role="system"), regex_scripts=scripts("card"), talkativeness="0.6", chub=dict(id=1), risuai={}),
            character_book=dict(name="Vesper Lind's Lorebook", extensions={}, entries=[
                dict(keys=["lamp", "oil"], content="@@depth 2\n@@role assistant\nThe lamp needs {{roll:1d6}} flasks.", enabled=True, insertion_order=10, use_regex=False, constant=False, extensions={}, comment="lamp", id=0, position="before_char"),
                dict(keys=["/heron(s)?/i"], content="Herons follow {{char}}. The oil is cheap.", enabled=True, insertion_order=20, use_regex=True, constant=False, extensions=dict(position=4, depth=1, role=2), comment="herons"),
                dict(keys=[], content="{{char}} was born at {{random::sea::noon}}.", enabled=True, insertion_order=5, constant=True, extensions=dict(position=1), name="birth", position="after_char", id=7),
                dict(keys=["tide"], secondary_keys=["late"], selective=True, content="Late tides drown the steps.", enabled=True, insertion_order=5, extensions=dict(selectiveLogic=3, probability=80, useProbability=True, group="tides", sticky=2), id=9)]))),
        "pu-odd": v2("Old Brandt", description="{{char}} is old.\n{{char}} has {{random:one,two, three}} boats.", personality="gruff", scenario="", first_mes="Hm.", mes_example="{{user}}: Boats?\n{{char}}: Boats.\n\nHe spits.\n{{char}}: Many."),
        "pu-warden": v2("The Warden", description=warden, scenario="", personality="  ", first_mes="<status>HP {{getvar::hp}}</status>\nThe gate opens.", mes_example="<start>\nYou: look\nThe Warden: You see {{.hp}} doors.\n<START>\n<START>\nEnd of example, no speaker.\n{{char}}: *waits*\n", system_prompt="You are the game master.\n{{original}}\nGold: {{.gold}}{{.gold += 5}} now {{.gold}}.", post_history_instructions="End with <status>HP {{getvar::hp}} Gold {{getvar::gold}}</status>", extensions=dict(depth_prompt=dict(prompt="", depth=4, role="system"), regex_scripts=scripts("w"), world="Nowhere")),
        "pu-three": v2("Three of Them", description=many, personality="{{random::a,b::c,d}} and {{random:x::y::z}}", scenario="{{setvar::joss::}}The mill. {{getvar::joss}}{{hasvar::joss}}{{newline::2}}Noon.{{space::3}}End", first_mes="...", mes_example="<START>\n{{user}}: Who?\nTamsin: Me.\nJoss: And me.\n{{char}}: All of us.\n\n\n<START>{{char}}: One line.\nsecond line", post_history_instructions="{{trim}}"),
        "pu-shen": v2("沈砚", description=chinese, personality="冷静", scenario="黄昏,{{user}}敲门。", first_mes="「进来。」", mes_example="<START>\n{{user}}:师父?\n{{char}}:「嗯。」\n<START>\n{{user}}: 钟响了。\n{{char}}: 听见了。{{//}}", extensions=dict(depth_prompt=dict(prompt="(沈砚不笑)", depth=0, role="user"))),
        "pu-anna": v2("Анна", description="Анна — смотритель моста. {{user}}, {{char}}.\n{{#if scenario}}Есть место.{{/if}}", personality="строгая", scenario="{{char}} ждёт на мосту.", first_mes="— Стой.", mes_example="<START>\nАнна: Кто идёт?\n{{user}}: Я.\nАнна: {{random::Проходи::Стой}}.", system_prompt="", post_history_instructions="  \n"),
    }


# ------------------------------------------------------------------------------------------------------------ lorebooks
def positions():
    """Every position with roles, outlets, decorators, filters, triggers, timed and regex entries; titles on most."""
    w, out, n = Words("positions"), {}, 0

    def add(**e):
        nonlocal n
        out[str(n)] = entry(n, **dict(dict(comment=f"◆ {n} {w.pick(['Place', 'Person', 'Rule'])}", content=w.fact()), **e))
        n += 1
    for position in (0, 1, 2, 3, 5, 6):
        add(constant=True, position=position, order=50, content=(w.fact() if position < 5 else "{{user}}: " + w.say() + "?\n{{char}}: " + w.line()))
        add(key=["the", "a"], position=position, order=50 + position)
    for depth in (0, 1, 2, 4, 9):
        for role in (0, 1, 2):
            add(constant=True, position=4, depth=depth, role=role, order=100 - role * 10 + depth, content=w.fact() + (" {{// aside }}" if role else "  \n"))
    add(constant=True, content="@@activate\nDecorated and on.", order=1)
    add(constant=True, content="@@dont_activate\nDecorated and off.")
    add(key=["zzzz"], content="@@activate\n@@depth 3\nForced by its decorator.")
    add(key=["zzzz"], content="@@@activate\nNot a decorator.", constant=True)
    add(constant=True, position=7, outletName="map", content="Map: {{char}} at {{random::north::south}}.")
    add(constant=True, position=7, outletName=" map ", content="Spaced outlet.")
    add(constant=True, position=7, outletName="", content="Lost outlet.")
    add(constant=True, triggers=["continue", "swipe"], content="Only when going on.")
    add(constant=True, triggers=["normal"], content="Only in plain turns.")
    add(constant=True, characterFilter=dict(isExclude=True, names=["oc-pu-vesper"], tags=[]), content="Not for Vesper.")
    add(constant=True, characterFilter=dict(isExclude=False, names=["nobody"], tags=[]), content="For nobody.")
    add(key=["{{char}}"], content="A key that is a macro: {{char}}.")
    add(key=["/^{{user}}:.*\\b(late|early)\\b/m"], content="A regex key with a macro.")
    add(key=["ferry bell"], matchWholeWords=True, content="Two words: the bell.")
    add(key=["cross"], matchWholeWords=False, content="Part of a word.")
    add(key=["Ask"], caseSensitive=True, keysecondary=["not", "me"], selectiveLogic=3, content="All of them.")
    add(key=["Ask"], keysecondary=["not", "gate"], selectiveLogic=1, content="Not all of them.")
    add(key=["Ask"], keysecondary=["dragon"], selectiveLogic=2, content="None of them.")
    add(key=["steward"], matchPersonaDescription=True, matchCharacterDescription=True, content="Found in the persona.")
    add(key=["gruff", "Patient"], matchCharacterPersonality=True, matchScenario=True, matchCreatorNotes=True, matchCharacterDepthPrompt=True, content="Found in the card.")
    for level in (1, 2, True):
        add(key=["moss"], delayUntilRecursion=level, content=f"Moss of level {level}. lichen")
    add(constant=True, content="There is moss here.", order=7)
    add(key=["lichen"], content="Lichen, found by recursion.", excludeRecursion=True)
    add(key=["lichen"], content="Lichen again. fern", preventRecursion=True)
    add(key=["fern"], content="Never found.")
    for k in range(5):
        add(constant=True, group="sky", groupWeight=[10, 100, 30, 5, 50][k], groupOverride=False, content=f"Sky {k}.", order=10 * k)
    for k in range(3):
        add(constant=True, group="sky,ground", groupWeight=40, groupOverride=k == 1, content=f"Ground {k}.", order=10 * k, probability=[100, 50, 100][k])
    add(constant=True, probability=40, content="By luck.")
    add(constant=True, probability=0, content="Never.")
    add(constant=True, probability=1, useProbability=False, content="Luck is off.")
    add(constant=True, content="")
    add(constant=True, content="{{setvar::weather::rain}}{{trim}}")
    add(constant=True, content="Weather: {{getvar::weather}}, {{getglobalvar::season}}\n\n", order=300)
    add(constant=True, vectorized=True, automationId="run", content="Vectors do not matter to constants.")
    add(key=["the"], scanDepth=0, content="Depth zero.")
    add(key=["mill"], scanDepth=20, content="Deep scan.")
    return dict(entries=out, name="PU Positions", originalData=None)


def foreign():
    """Chinese and Russian keys, regex flags, an entry that is a list of rules."""
    out = {}
    rows = [(["钟"], "钟楼有九十九级台阶。", {}), (["师父", "徒弟"], "师徒三年。{{//}}", dict(position=4, depth=0, role=1)), (["мост"], "Мост стар.", {}), (["кот"], "Кот спит.", dict(matchWholeWords=True)),
            (["/[Сс]той/u"], "Стража спит.", dict(position=1)), (["door"], "Doors open inward.", {}), (["/\\d{2,}/"], "A number was said.", dict(position=4, depth=2, role=2)), (["…", "—"], "Pauses matter.", {}), (["élan"], "Verve.", dict(matchWholeWords=True)), (["C++"], "Language.", dict(matchWholeWords=True))]
    for n, (key, content, more) in enumerate(rows): out[str(n)] = entry(n, key=key, content=content, comment=key[0], **more)
    return dict(entries=out, extensions={})


# -------------------------------------------------------------------------------------------------------------- presets
BASE = dict(chat_completion_source="openai", openai_model="gpt-4o", temperature=0.9, frequency_penalty=0.1, presence_penalty=0, top_p=0.98, top_k=0, top_a=0, min_p=0, repetition_penalty=1, openai_max_context=40000, openai_max_tokens=1000,
            names_behavior=0, send_if_empty="", impersonation_prompt="[Write as {{user}}.]", new_chat_prompt="[Start a new Chat]", new_group_chat_prompt="[Start a new group chat. Group members: {{group}}]", new_example_chat_prompt="[Example Chat]",
            continue_nudge_prompt="[Continue your last message without repeating its original content.]", wi_format="{0}", scenario_format="{{scenario}}", personality_format="{{personality}}", group_nudge_prompt="[Write the next reply only as {{char}}.]",
            stream_openai=False, assistant_prefill="", assistant_impersonation="", use_sysprompt=False, squash_system_messages=False, continue_prefill=False, continue_postfix=" ", function_calling=False)


def made(rows, more, ids=None):
    """A preset of rows (identifier or name, role, text, on, further fields); a marker is a row of its name alone."""
    prompts, order = [], []
    for n, row in enumerate(rows):
        if isinstance(row, str):
            prompts.append(dict(identifier=row, name=MARKERS[row], system_prompt=True, marker=True)); order.append(dict(identifier=row, enabled=True)); continue
        name, role, text, on, *rest = row
        known = name in ("main", "nsfw", "jailbreak", "enhanceDefinitions")
        p = dict(identifier=name if known else f"{n:02d}-{abs(hash(0)) + n:04x}-uuid", name=name, role=role, content=text, system_prompt=known, injection_position=0, injection_depth=4, forbid_overrides=False)
        if rest: p.update(rest[0])
        prompts.append(p); order.append(dict(identifier=p["identifier"], enabled=on))
    out = dict(BASE, prompts=prompts, prompt_order=[dict(character_id=i, order=order) for i in (ids or (100000, 100001))])
    out.update(more)
    return out


def presets2():
    w = Words("presets two")
    rule = lambda: plain(w.rule())
    at = lambda depth, order=100, **m: dict(injection_position=1, injection_depth=depth, injection_order=order, **m)
    weave = [("main", "system", "{{// WEAVE 4.2 — read me first }}\n{{setvar::tag::scene}}{{setvar::style::{{random::lean::lush}}}}\n\n<role>\nYou write {{char}} for {{user}}.\n</role>{{trim}}\n", True)]
    for n in range(40):
        weave.append((f"🎚️ Toggle {n}", "system", [f"{{{{setvar::opt{n}::{rule()}\n{rule()}}}}}", f"{{{{addvar::list::- {rule()}\n}}}}", f"{{{{setvar::opt{n}::}}}}{{{{// off }}}}", f"{{{{setglobalvar::g{n}::{{{{getvar::style}}}}}}}}{{{{trim}}}}"][n % 4], n % 3 != 1))
    weave += [("━ Collected ━", "system", "<{{getvar::tag}}>\n{{getvar::opt0}}\n{{getvar::opt4}}{{getvar::opt99}}\n{{getvar::list}}\n{{getglobalvar::g3}}\n</{{getvar::tag}}>", True), ("<lore>", "system", "<lore>", True), "worldInfoBefore", "worldInfoAfter", ("</lore>", "system", "</lore>", True),
              ("<cast>", "user", "<cast>\n{{char}}:", True), "charDescription", "charPersonality", ("persona", "user", "{{user}}: {{persona}}", True), "personaDescription", ("</cast>", "user", "</cast>", True), "scenario", "dialogueExamples",
              ("Outlet", "system", "{{outlet::map}}|{{outlet:: map }}|{{outlet::none}}", True), ("enhanceDefinitions", "system", "", False), ("nsfw", "system", "{{if {{getvar::style}}}}Style is {{getvar::style}}{{else}}No style{{/if}}. {{if::{{getvar::nope}}::yes}} {{if !nope}}bare{{/if}}", True),
              ("depth 0 sys", "system", "[{{getvar::style}}]\n", True, at(0)), ("depth 0 user", "user", "{{// think }}\n\nThink about {{lastUserMessage}}.", True, at(0, 99)), ("depth 0 bot", "assistant", "  Understood. {{lastCharMessage}}", True, at(0, 101)), ("depth 0 empty", "system", "{{setvar::late::1}}", True, at(0)),
              ("depth 1", "system", "{{trim}}\nDepth one {{getvar::late}}.", True, at(1)), ("depth 4", "system", "Depth four A.\n\n", True, at(4)), ("depth 4 b", "system", "\n\nDepth four B.", True, at(4)), ("depth 99", "user", "Very deep.", True, at(99)), ("trigger", "system", "Only swipes and continues.", True, dict(injection_trigger=["swipe", "continue"])),
              "chatHistory", ("After history", "system", "{{lastMessageId}}/{{lastMessage}}", True), ("jailbreak", "system", "{{getvar::list}}", True), ("Prefill", "assistant", "<think>\n{{random::Okay::Right}}, {{user}}", True)]
    wrap = [("main", "system", "Main of wrap.", True), "personaDescription", "charDescription", "charPersonality", "scenario", "worldInfoBefore", "dialogueExamples", "chatHistory", "worldInfoAfter", ("jailbreak", "user", "(OOC: stay in scene, {{user}} {{noop}}waits.{{newline}}{{newline}})", True), ("x", "assistant", "", True)]
    old = dict(temperature=1, openai_model="gpt-3.5-turbo", main_prompt="Old main for {{char}}.", nsfw_prompt="old nsfw", nsfw_toggle=True, nsfw_first=False, jailbreak_prompt="old jailbreak", jailbreak_system=True, enhance_definitions=True, wrap_in_quotes=False, names_in_completion=True, nsfw_avoidance_prompt="", impersonation_prompt="[As {{user}}, please]", bias_preset_selected="Default (none)", openai_max_context=4095, openai_max_tokens=300, stream_openai=False, send_if_empty="(go on)")
    reorder = [("last", "assistant", "Ready.", True), "chatHistory", ("main", "system", "{{original}} Late main.", True), "dialogueExamples", "charDescription", ("jailbreak", "system", "JB {{original}} {{charJailbreak}} {{charPrompt}}", True, at(2)), ("plain", "user", "{{idle_duration}} {{model}} {{maxPrompt}} {{isMobile}} {{input}} {{firstIncludedMessageId}} {{charVersion}} {{mesExamplesRaw}}", True)]
    return {
        "PU Weave": made(weave, dict(squash_system_messages=True, names_behavior=0, continue_prefill=True, continue_postfix="", new_chat_prompt="<chat>", new_example_chat_prompt="{{// none }}", wi_format="[{0}]\n{{// lore }}", extensions=dict(regex_scripts=scripts("p"), SPreset=dict(RegexBinding=dict(regexes=[]))))),
        "PU Wrap": made(wrap, dict(names_behavior=1, wi_format="Lore: {0} / {0}", scenario_format="Where: {{scenario}}{{trim}}", personality_format="", wrap_in_quotes=True, send_if_empty="…", new_chat_prompt="", squash_system_messages=False)),
        "PU Old": old,
        "PU Reorder": made(reorder, dict(names_behavior=2, squash_system_messages=True, continue_nudge_prompt="{{lastChatMessage}} <- go on", scenario_format="", assistant_prefill="{{char}}: {{trim}}", assistant_impersonation="{{user}}: ", use_sysprompt=True)),
        "PU Default Order": made(wrap[:9], dict(names_behavior=-1, claude_use_sysprompt=True, names_in_completion=False, impersonation_prompt="", group_nudge_prompt="[{{char}} now. Others: {{notChar}}; all: {{group}}; {{groupNotMuted}}]"), ids=(100000,)),
    }


# ------------------------------------------------------------------------------------------------------------ templates
I = dict(input_sequence="", output_sequence="", last_output_sequence="", system_sequence="", stop_sequence="", wrap=True, macro=True, names_behavior="force", activation_regex="", first_output_sequence="", skip_examples=False, output_suffix="", input_suffix="", system_suffix="", user_alignment_message="",
         system_same_as_user=False, last_system_sequence="", first_input_sequence="", last_input_sequence="", sequences_as_stop_strings=True, story_string_prefix="", story_string_suffix="")
C = dict(story_string="{{#if system}}{{system}}\n{{/if}}{{#if wiBefore}}{{wiBefore}}\n{{/if}}{{#if description}}{{description}}\n{{/if}}{{#if personality}}{{char}}'s personality: {{personality}}\n{{/if}}{{#if scenario}}Scenario: {{scenario}}\n{{/if}}{{#if wiAfter}}{{wiAfter}}\n{{/if}}{{#if persona}}{{persona}}\n{{/if}}", example_separator="***", chat_start="***", use_stop_strings=False,
         names_as_stop_strings=True, story_string_position=0, story_string_depth=1, story_string_role=0, always_force_name2=True, trim_sentences=False, single_line=False)


def masters2():
    all_of = lambda name, i, c, **more: dict(instruct=dict(I, name=name, **i), context=dict(C, name=name, **c), **more)
    return {
        "PU Turns": all_of("PU Turns", dict(input_sequence="<|turn>{{name}}\n", output_sequence="<|turn>{{name}}\n", system_sequence="<|turn>system\n", input_suffix="<turn|>\n", output_suffix="<turn|>\n", system_suffix="<turn|>\n", first_output_sequence="<|first>{{char}}\n", first_input_sequence="<|open>{{user}}\n", last_input_sequence="<|ask>{{user}}\n", last_output_sequence="<|turn>{{char}}\n<think>\n",
                            last_system_sequence="<|turn>director\n", wrap=False, names_behavior="none", stop_sequence="<turn|>", story_string_prefix="<|turn>{{name}}\n", story_string_suffix="<turn|>\n", user_alignment_message="Begin, {{char}}. {{random::Now::Please}}."),
                            dict(story_string="{{trim}}\n{{#if anchorBefore}}{{anchorBefore}}\n{{/if}}{{system}}{{#unless persona}}No persona.{{/unless}}\n<{{char}}>\n{{description}}{{#if personality}}\n({{personality}}){{/if}}\n</{{char}}>{{#if loreBefore}}\n{{loreBefore}}{{/if}}{{#if loreAfter}}\n{{loreAfter}}{{/if}}{{#if mesExamples}}\nEXAMPLES\n{{mesExamples}}{{/if}}{{#if anchorAfter}}\n{{anchorAfter}}{{/if}}\n\n\n", example_separator="", chat_start="", use_stop_strings=True, always_force_name2=False),
                            sysprompt=dict(name="PU Turns", content="Director's notes for {{char}}.\n{{// x }}{{getvar::hp}}", post_history="[{{char}} answers {{user}}.]"), reasoning=dict(name="PU Turns", prefix="<think>\n", suffix="\n</think>", separator="\n\n")),
        "PU Roles": all_of("PU Roles", dict(input_sequence="\n### Instruction ({{user}}):\n", output_sequence="\n### Response ({{char}}):\n", system_sequence="\n### Context:\n", wrap=False, names_behavior="always", system_same_as_user=True, skip_examples=True, last_output_sequence="\n### Response ({{char}}, {{random::short::long}}):\n", stop_sequence="### Instruction\n### End", macro=True, sequences_as_stop_strings=False),
                            dict(story_string="{{system}}\n{{wiBefore}}\n{{description}}\n{{personality}}\n{{scenario}}\n{{wiAfter}}\n{{persona}}", example_separator="### Example of {{char}}:", chat_start="### Chat with {{user}}:\n", story_string_position=1, story_string_depth=0, story_string_role=1, single_line=True)),
        "PU Raw": all_of("PU Raw", dict(input_sequence="{{user}}>", output_sequence="{{char}}>", system_sequence="!", macro=False, names_behavior="none", wrap=True, first_output_sequence="{{char}}>>", stop_sequence="{{user}}>", input_suffix="{{newline}}", last_output_sequence=""),
                            dict(example_separator="{{// none }}", chat_start="{{random::Start::Begin}} of chat", story_string_position=1, story_string_depth=2, story_string_role=2, trim_sentences=True), sysprompt=dict(name="PU Raw", content="", post_history="")),
        "PU Ancient": dict(instruct=dict(name="PU Ancient", enabled=False, system_prompt="An ancient prompt: {{char}} and {{user}}.", system_sequence="", system_sequence_prefix="<s>", system_sequence_suffix="</s>", stop_sequence="", input_sequence="USER:", output_sequence="ASSISTANT:", separator_sequence="</s>", wrap=False, names=False, names_force_groups=True, macro=True, activation_regex="/vicuna/i"),
                           context=dict(name="PU Ancient", story_string="{{#if system}}{{system}}{{/if}}\n{{#if description}}{{description}}{{/if}}\n{{#if mesExamples}}{{mesExamplesRaw}}{{/if}}", chat_start="", example_separator="", always_force_name2=True, trim_sentences=False, include_newline=False, single_line=False)),
        "PU Derived": all_of("PU Derived", dict(input_sequence="<|im_start|>user", output_sequence="<|im_start|>assistant", system_sequence="<|im_start|>system", input_suffix="<|im_end|>\n", output_suffix="<|im_end|>\n", system_suffix="<|im_end|>\n", stop_sequence="<|im_end|>", story_string_prefix="<|im_start|>system", story_string_suffix="<|im_end|>\n", names_behavior="force"),
                            dict(story_string=C["story_string"] + "{{trim}}{{!-- handlebars comment --}}{{#each x}}{{/each}}{{> nothing}}" if False else C["story_string"] + "{{trim}}{{!-- handlebars comment --}}", chat_start="", example_separator="")),
    }
