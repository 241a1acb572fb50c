"""Words, sentences and documents of the recorded scenes: cards, lorebooks, presets and templates in the style in which people
publish them. All texts were written for this collection. Everything is made from a fixed seed."""
import random

PLACES = "Harrow Quay,Saltmarch,the Lower Locks,Pendle Mill,the Glass Orchard,Ninefold Stair,Kettle Lane,the Drowned Chapel,Amberly,Crane Hill,Fen Market,the Owl Gate".split(",")
PEOPLE = "Tamsin,Old Brandt,Captain Yorke,Sister Ilse,Fennimore,the Reeve,Dagny,Little Pim,Magister Holt,Widow Carrow,Joss,Ennis".split(",")
THINGS = "brass lantern,tide table,ferry bell,ledger,glass eye,copper key,sealed letter,weather vane,loom,barrel organ,salt charm,map case".split(",")
MOODS = "calm,wary,amused,stern,tired,curious,proud,restless,gentle,sly".split(",")
VERBS = "guards,repairs,fears,hides,trades,remembers,counts,follows,sketches,forgives".split(",")
ACTS = "looks up from the {thing}|sets the {thing} aside|leans against the rail|taps twice on the {thing}|glances toward {place}|pulls the door shut".split("|")
SAYS = "You are late, but the water is later|Nobody crosses {place} after dark|Ask {person}, not me|The {thing} was never mine|I have counted every step to {place}|Then we wait for the tide|That is a fair price, I suppose|Tell me again what {person} said".split("|")
RULES = "Keep the reply to {n} paragraphs.|Let {{{{char}}}} act before speaking.|Never decide what {{{{user}}}} feels.|Describe smells and sounds of {place}.|Use short sentences when {{{{char}}}} is {mood}.|Avoid summaries at the end.|Let minor characters such as {person} interrupt.|Write dialogue in quotation marks and thoughts in *asterisks*.|Move time on only when {{{{user}}}} does.|Mention the {thing} when it matters.".split("|")


class Words:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def pick(self, many):
        return self.r.choice(many)

    def fill(self, text):
        return text.format(place=self.pick(PLACES), person=self.pick(PEOPLE), thing=self.pick(THINGS), mood=self.pick(MOODS), n=self.r.randint(2, 6))

    def act(self):
        return self.fill(self.pick(ACTS))

    def say(self):
        return self.fill(self.pick(SAYS))

    def line(self):
        return f'*{{{{char}}}} {self.act()}.* "{self.say()}."'

    def rule(self):
        return self.fill(self.pick(RULES))

    def fact(self):
        return self.fill(f"{{person}} {self.pick(VERBS)} the {{thing}} at {{place}}; people there are {{mood}}.")


# ---------------------------------------------------------------------------------------------------------------- cards
def card(key, name, **more):
    w = Words(f"card {key}")
    data = dict(
        name=name,
        description=f"<!-- sheet of {name} -->\n[Name: {{{{char}}}}; Trade: {w.pick(THINGS)} mender; Home: {w.pick(PLACES)}]\n{{{{char}}}} is {w.pick(MOODS)} and {w.pick(MOODS)}. " + " ".join(w.fact() for _ in range(3)) + "\n{{// kept for the author: rework the childhood}}",
        personality=f"{w.pick(MOODS)}, {w.pick(MOODS)}; loyal to {w.pick(PEOPLE)}",
        scenario=f"{{{{user}}}} meets {{{{char}}}} at {w.pick(PLACES)} while {w.pick(PEOPLE)} is away.",
        first_mes=w.line(),
        mes_example="<START>\n{{user}}: " + w.say() + "?\n{{char}}: " + w.line() + "\n<START>\n{{user}}: And the " + w.pick(THINGS) + "?\n{{char}}: *shrugs* \"" + w.say() + ".\"\n{{char}}: " + w.line(),
        creator_notes=f"{name} by nobody in particular. Works best with a long context.", system_prompt="", post_history_instructions="",
        alternate_greetings=[w.line(), w.line()], tags=["harbour", "original"], creator="tests", character_version="1.2",
        extensions=dict(talkativeness="0.5", fav=False, world="", depth_prompt=dict(prompt="", depth=4, role="system")),
    )
    extensions = more.pop("extensions", {})
    data.update(more)
    data["extensions"].update(extensions)
    return dict(spec="chara_card_v2", spec_version="2.0", name=name, data=data)


def own_book(seed, count):
    w = Words(seed)
    entries = []
    for n in range(count):
        person = w.pick(PEOPLE)
        entries.append(dict(
            keys=[person.split()[-1], w.pick(THINGS)], secondary_keys=[w.pick(PLACES)] if n % 5 == 4 else [], comment=f"{n}. {person}", content=w.fact(),
            constant=n % 7 == 0, selective=n % 5 == 4, insertion_order=100 + n % 4, enabled=n % 6 != 5, position=["before_char", "after_char"][n % 2], id=n + 1,
            use_regex=False, case_sensitive=False, name=f"{n}. {person}", priority=10,
            extensions=dict(position=[0, 1, 4, 4, 0, 2][n % 6], depth=[4, 4, 2, 0, 4, 4][n % 6], role=n % 3, probability=100, useProbability=True, selectiveLogic=0,
                            exclude_recursion=n % 3 == 0, display_index=n, group="", weight=10),
        ))
    return dict(name=f"Notes of {seed}", description="", scan_depth=4, token_budget=500, recursive_scanning=True, extensions={}, entries=entries)


def cards():
    depth = lambda prompt, at=4, role="system": dict(depth_prompt=dict(prompt=prompt, depth=at, role=role))
    return {
        "tr-wick": card("wick", "Wick"),
        "tr-marrow": card("marrow", "Marrow", system_prompt="{{original}}\n\nMarrow never lies about the tide.{{setvar::tone::dry}}", post_history_instructions="{{// reminder }}Stay {{getvar::tone}}. {{original}}", extensions=depth("[Marrow limps; {{user}} has noticed. Tone: {{getvar::tone}}]", 2)),
        "tr-isolde": card("isolde", "Isolde Vane", character_book=own_book("isolde", 30), mes_example="<START>\n{{user}}: Is it far?\nIsolde Vane: Far enough.\n\n<START>\n{{char}}: {{random::Hm::Well::So}}. We shall see.\n{{user}}: Shall we?", extensions=depth("{{char}} hums when nervous.", 0, "assistant")),
        "tr-pell": card("pell", "Pell", scenario="{{// no scenario yet }}", personality="", description="  {{trim}}\n\nPell is {{pick::tall::short::broad}}, {{pick::bald::bearded}}.\n\n\nPell keeps {{roll:1d6}} cats.\n  ", extensions=depth("Pell whispers.", 1, "user") | dict(talkativeness="0.9")),
        "tr-quern": card("quern", "Quern", mes_example="", description="", personality="stone-faced", first_mes="", extensions=dict(talkativeness="0.2")),
        "tr-odile": card("odile", "Odile", post_history_instructions="[Odile answers in at most {{#if pov}}two{{else}}three{{/if}} sentences.]", system_prompt="", description="Odile, {{char}}, {{charIfNotGroup}}: {{group}}.\n" + "Odile writes everything down. " * 12, character_book=own_book("odile", 12)),
    }


# ------------------------------------------------------------------------------------------------------------ lorebooks
TEMPLATE = dict(key=[], keysecondary=[], comment="", content="", constant=False, vectorized=False, selective=True, selectiveLogic=0, addMemo=True, order=100, position=0,
                disable=False, ignoreBudget=False, excludeRecursion=False, preventRecursion=False, matchPersonaDescription=False, matchCharacterDescription=False,
                matchCharacterPersonality=False, matchCharacterDepthPrompt=False, matchScenario=False, matchCreatorNotes=False, delayUntilRecursion=False, probability=100, useProbability=True, depth=4,
                outletName="", group="", groupOverride=False, groupWeight=100, scanDepth=None, caseSensitive=None, matchWholeWords=None, useGroupScoring=None, automationId="",
                role=None, sticky=0, cooldown=0, delay=0, triggers=[])


def entry(uid, **more):
    out = dict(TEMPLATE, uid=uid, displayIndex=uid, characterFilter=dict(isExclude=False, names=[], tags=[]))
    out.update(more)
    return out


def harbour():
    """120 entries: titles, folders, groups, timed effects, depths, outlets."""
    w, out = Words("harbour"), {}
    for n in range(120):
        place, person, thing = w.pick(PLACES), w.pick(PEOPLE), w.pick(THINGS)
        e = dict(key=[place, f"/{thing.split()[-1]}s?/i"] if n % 4 == 0 else [person.split()[-1], thing], comment=f"[{['PLACE', 'PERSON', 'THING', 'RULE'][n % 4]}] {place} {n:03}", content=w.fact(), order=[100, 90, 250, 10, 100][n % 5])
        kind = n % 12
        if kind == 1: e.update(position=1)
        if kind == 2: e.update(position=4, depth=[0, 1, 4, 6][n // 12 % 4], role=n // 12 % 3)
        if kind == 3: e.update(group="weather" if n % 24 == 3 else "rumour, weather", groupWeight=50 + n, groupOverride=n == 27)
        if kind == 4: e.update(keysecondary=[w.pick(THINGS), w.pick(MOODS)], selectiveLogic=n // 12 % 4)
        if kind == 5: e.update(probability=[35, 60, 90][n // 12 % 3])
        if kind == 6: e.update(sticky=2 + n // 12 % 3, cooldown=n // 12 % 2 * 3)
        if kind == 7: e.update(delay=n // 12 * 2, excludeRecursion=True)
        if kind == 8: e.update(position=[2, 3, 5, 6][n // 12 % 4], content=w.fact() if n // 12 % 4 < 2 else "<START>\n{{user}}: " + w.say() + "?\n{{char}}: " + w.line())
        if kind == 9: e.update(preventRecursion=True, scanDepth=[None, 1, 6][n // 12 % 3], content=w.fact() + " {{// draft }}")
        if kind == 10: e.update(delayUntilRecursion=True if n // 12 % 2 else False, matchWholeWords=False, key=[thing[:4]])
        if kind == 11: e.update(constant=n // 12 % 3 == 0, disable=n // 12 % 3 == 2, position=4, depth=4, role=0, content="{{setvar::season::" + w.pick(["spring", "flood", "frost"]) + "}}It is the season of {{getvar::season}}." + w.fact())
        out[str(n)] = entry(n, **e)
    out["5"]["uid"] = 4  # two entries of one number, as careless edits leave them
    out["60"].update(position=7, outletName="rumours", constant=True, content="Rumour: {{random::the bell rang::the gate fell}}.")
    out["72"].update(position=7, outletName="rumours", constant=True)
    return dict(name="TR Harbour", entries=out)


def bestiary():
    """220 short entries, many constant at-depth ones, for tight budgets."""
    w, out = Words("bestiary"), {}
    for n in range(220):
        thing = w.pick(THINGS)
        e = dict(key=[thing.split()[-1], w.pick(PLACES).split()[-1]], comment=f"Beast {n}: {thing} moth", content=f"The {thing} moth ({n}) is {w.pick(MOODS)} by day and {w.pick(MOODS)} by night.", order=n % 30, probability=100)
        if n % 40 == 0: e.update(constant=True)
        if n % 55 == 1: e.update(ignoreBudget=True)
        if n % 17 == 0: e.update(position=4, depth=n % 3, role=n % 3)
        if n % 23 == 0: e.update(group="moths", useGroupScoring=True, useProbability=False)
        out[str(n)] = entry(n, **e)
    return dict(name="TR Bestiary", entries=out, extensions={})


def houserules():
    """An old export: fields of later versions are missing."""
    w, out = Words("rules"), {}
    for n in range(14):
        e = dict(uid=n, key=[w.pick(MOODS)], keysecondary=[], comment="", content=w.rule().replace("{{{{", "{{").replace("}}}}", "}}"), constant=n % 2 == 0, selective=False, order=50 + n, position=n % 2, disable=False)
        if n > 9: e.update(position=4, depth=3, probability=100, useProbability=True, displayIndex=n)
        out[str(n)] = e
    return dict(entries=out)


# -------------------------------------------------------------------------------------------------------------- presets
MARKERS = dict(worldInfoBefore="World Info (before)", charDescription="Char Description", charPersonality="Char Personality", scenario="Scenario", worldInfoAfter="World Info (after)", personaDescription="Persona Description", dialogueExamples="Chat Examples", chatHistory="Chat History")
SECTIONS = "Core,Point of view,Length,Style,World,Dialogue,Pacing,Language,Safety rails,Status block,Thinking,Extras".split(",")


def preset(seed, size, share, head, settings):
    """A long preset: sections of toggles, about `share` of them on, a tenth of them in the chat."""
    w = Words(f"preset {seed}")
    prompts = [dict(identifier="main", name="🏮 Main", system_prompt=True, role="system", content=head, injection_position=0, injection_depth=4, forbid_overrides=False),
               dict(identifier="nsfw", name="Auxiliary Prompt", system_prompt=True, role="system", content=settings.pop("aux", "")),
               dict(identifier="jailbreak", name="Post-History Instructions", system_prompt=True, role="system", content=settings.pop("last", "[{{getvar::pov}} / {{getvar::len}}]{{// last word }}")),
               dict(identifier="enhanceDefinitions", name="Enhance Definitions", system_prompt=True, role="system", content="Use what you know of {{char}}.", marker=False)]
    prompts += [dict(identifier=i, name=n, system_prompt=True, marker=True) for i, n in MARKERS.items()]
    # careless files carry texts and positions on markers
    prompts[4].update(content="[world before]", role="system")
    prompts[11].update(content="{{trim}}", role="user", injection_position=0)
    order, mine = [("main", True)], []
    for n in range(size):
        section = SECTIONS[n * len(SECTIONS) // size]
        first = n == 0 or section != SECTIONS[(n - 1) * len(SECTIONS) // size]
        identifier = f"{w.r.getrandbits(32):08x}-{n:04x}"
        p = dict(identifier=identifier, name=f"━━━ {section} ━━━" if first else f"{w.pick(['➤', '✦', '│', '🔧'])} {section} {n}", system_prompt=False, marker=False,
                 role=["system", "system", "system", "user", "assistant", "system"][w.r.randrange(6)], injection_position=0, injection_depth=4, injection_order=100, injection_trigger=[], forbid_overrides=False)
        rule, kind = w.rule().replace("{{{{", "{{").replace("}}}}", "}}"), n % 20
        p["content"] = [
            rule, f"{{{{// section {section} }}}}", f"<{section.lower().replace(' ', '_')}>\n{rule}\n{rule}\n", f"{{{{setvar::pov::{w.pick(['first', 'second', 'third'])}}}}}{{{{trim}}}}",
            f"Point of view: {{{{getvar::pov}}}} person. {rule}", f"{{{{setvar::len::{{{{random::short::medium::long}}}}}}}}", f"Length: {{{{getvar::len}}}}.\n{{{{// {rule} }}}}\n",
            f"\n\n{rule}\n\n{{{{trim}}}}\n\n", f"{{{{addvar::score::{n}}}}}Score {{{{getvar::score}}}}: {rule}", f"{{{{user}}}} and {{{{char}}}} and {{{{group}}}}; last: {{{{lastMessageId}}}} {{{{lastUserMessage}}}}",
            f"</{section.lower().replace(' ', '_')}>", f"{{{{random::{w.pick(MOODS)}::{w.pick(MOODS)}::{{{{char}}}} is {w.pick(MOODS)}}}}}, {rule}", "", f"  {rule}  ",
            f"{{{{setvar::style_{n % 3}::{rule}}}}}", f"{{{{getvar::style_{n % 3}}}}}{{{{newline}}}}{{{{noop}}}}- {rule}", f"Dice: {{{{roll:1d20}}}}. {rule}", f"{{{{trim}}}}\n{{{{// toggle }}}}\n{rule}",
            f"{{{{incvar::turns}}}} turns; {{{{persona}}}} | {{{{mesExamples}}}}" if n % 40 == 18 else f"Model of {{{{char}}}}: {{{{personality}}}} {{{{scenario}}}}", f"{{{{outlet::rumours}}}}{rule} {{{{summary}}}}",
        ][kind]
        if w.r.random() < 0.12:
            p.update(injection_position=1, injection_depth=w.r.choice([0, 0, 1, 2, 4, 4]), injection_order=w.r.choice([100, 100, 100, 50, 200]))
        if w.r.random() < 0.05: p.update(injection_trigger=[w.r.choice(["normal", "continue", "impersonate", "swipe"])])
        if n % 33 == 32: p.update(role="")
        if n % 29 == 28:
            for k in ("injection_order", "injection_trigger", "injection_depth"): p.pop(k)
        prompts.append(p)
        mine.append((identifier, w.r.random() < share))
    # markers stand among the sections
    cut = [int(size * at) for at in (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.6, 0.8)]
    for at, (identifier, on) in enumerate(mine):
        order += [(m, True) for m, c in zip(MARKERS, cut) if c == at]
        order.append((identifier, on))
        if at == size // 2: order += [("nsfw", True), ("enhanceDefinitions", False)]
    order += [("jailbreak", True), ("deadbeef-gone", True)]
    ordered = [dict(identifier=i, enabled=on) for i, on in order]
    default = [dict(identifier=i, enabled=True) for i in ["main", *MARKERS, "jailbreak"]]
    out = dict(chat_completion_source="openai", openai_model="gpt-4o", temperature=1, frequency_penalty=0, presence_penalty=0, top_p=0.95, top_k=0, top_a=0, min_p=0, repetition_penalty=1,
               openai_max_context=32000, openai_max_tokens=1200, wrap_in_quotes=False, names_behavior=0, send_if_empty="", impersonation_prompt="[Speak for {{user}}. Do not act for {{char}}.]", new_chat_prompt="[Start a new Chat]",
               new_group_chat_prompt="[Start a new group chat. Group members: {{group}}]", new_example_chat_prompt="[Example Chat]", continue_nudge_prompt="[Continue without repeating: {{lastChatMessage}}]", bias_preset_selected="Default (none)",
               max_context_unlocked=True, wi_format="{0}", scenario_format="{{scenario}}", personality_format="[{{char}}'s personality: {{personality}}]", group_nudge_prompt="[Write the next reply only as {{char}}.]", stream_openai=True,
               prompts=prompts, prompt_order=[dict(character_id=100000, order=default), dict(character_id=100001, order=ordered)], assistant_prefill="", assistant_impersonation="", use_sysprompt=False, squash_system_messages=False,
               media_inlining=True, continue_prefill=False, continue_postfix=" ", function_calling=False, show_thoughts=True, reasoning_effort="auto", seed=-1, n=1)
    out.update(settings)
    return out


def presets():
    return {
        "TR Lantern Works": preset("lantern", 240, 0.4, "You are {{char}}, co-author with {{user}}.\n{{// v3.1 }}\n{{setvar::pov::third}}{{setvar::score::0}}{{trim}}", dict(wi_format="<lore>\n{0}\n</lore>", new_chat_prompt="")),
        "TR Quill": preset("quill", 40, 0.8, "Write {{char}}'s next reply.", dict(squash_system_messages=True, names_behavior=2, assistant_prefill="{{char}}:", continue_prefill=True, continue_postfix="\n\n", new_example_chat_prompt="", last="")),
        "TR Cartographer XL": preset("cartographer", 320, 0.3, "{{// main }}{{#if personality}}{{char}} is {{personality}}.{{/if}}\nMap the scene.", dict(squash_system_messages=True, names_behavior=1, new_chat_prompt="{{trim}}", new_example_chat_prompt="Example:", scenario_format="Scene: {{scenario}}", use_sysprompt=True, assistant_prefill="<think>", aux="{{setvar::pov::second}}{{// aux }}")),
        "TR Plain": preset("plain", 12, 1.0, "", dict(names_behavior=-1, send_if_empty="[{{user}} waits]", impersonation_prompt="", group_nudge_prompt="", last="{{setvar::x::1}}")),
        "TR Toggles": preset("toggles", 210, 0.55, "Main.\n\n{{trim}}", dict(names_behavior=0, squash_system_messages=False, wi_format="", personality_format="", continue_postfix="", continue_nudge_prompt="[Go on.]{{// go }}")),
    }
