//! The kinds of rule files: each is one word that a file begins with (`kind = "lore"`).

/// Every kind, with a description of its files. A file's schema is `schemas/<kind>.v<version>.json`.
pub const KINDS: &[(&str, &str)] = &[
    ("pack", "name, release, engine range, licence, authors, what it extends, limits"),
    ("pipeline", "the stages of a build, in order"),
    ("slots", "the slots of a prompt: source, role, budget group, whether trimming may take them"),
    ("injection", "injections: positions and their aliases, depths, merging, order of roles, notes, the persona"),
    ("eviction", "budgets, and the strategies of trimming"),
    ("lore", "lore: scanning, matching, recursion, groups, timed effects, budget, printing"),
    ("macros", "macros: names, aliases, arguments, and what each gives"),
    ("story", "story strings and their placement"),
    ("instruct", "instruct formats: sequences, wrapping, names, stop strings"),
    ("group", "who speaks next in a group, and how cards are joined"),
    (
        "dialect",
        "a provider's payload: role map, system placement, alternation, merging, names, tool and media shapes, prefill, cache marks",
    ),
    ("foreign", "how a foreign JSON format becomes a part of a scene"),
    ("regex", "text rewriting scripts and where they apply"),
    ("task", "a kind of task for templates: its sources and lanes"),
    ("template", "a template of slots and layout, written for a task"),
    ("artifact", "artifact declarations: tag, kind, writer, visibility, surface, inclusion, retention"),
    ("operation", "operations that read and write artifacts, with guards and effects"),
    ("capability", "what providers and models accept; lint; what a request must not contain, and how a run is configured"),
    ("directive", "structured directive types, aliases, payload schemas, instruction text"),
    ("replies", "what becomes of an answer: reasoning, stop strings, tags, clean-up, and the language to answer in"),
    ("hooks", "script functions bound to events; custom macros, filters, passes"),
    ("tools", "tools that a model may call, and the rules of the loop that carries out its calls"),
    ("scene", "what a pack may read and keep: paths, lists, fields, states, streams of draws, budget groups"),
    ("overlay", "rows of any kind in one file, laid over a pack"),
    ("case", "tests of rules"),
];
