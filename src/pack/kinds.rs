//! The kinds of rule files: each is one word that a file begins with (`kind = "lore"`).

/// Every kind, and what its files decide. A file's schema is `schemas/<kind>.v<version>.json`.
pub const KINDS: &[(&str, &str)] = &[
    ("pack", "name, release, engine range, licence, authors, what it extends, entry points, limits"),
    ("pipeline", "the stages, in order: name, operator, parameters, condition, dialect branches"),
    ("slots", "the pinned slots: source, role, budget group, removable, forced position"),
    ("injection", "positions and their aliases, depth rules, merge keys, role order, scheduled notes, persona placement"),
    ("eviction", "strategies of trimming: passes, protections, bundles, refill, failure"),
    ("lore", "scanning, matching, recursion, groups, timed effects, budget, insertion strategy, decorators"),
    ("macros", "the macro table of a syntax flavour: names, aliases, arguments, and what each gives"),
    ("story", "story strings and their placement"),
    ("instruct", "instruct formats: sequences, wrapping, names, stop strings"),
    ("group", "speaker scheduling as steps of selections; card merging"),
    (
        "dialect",
        "a provider's payload: role map, system placement, alternation, merging, names, tool and media shapes, prefill, cache marks",
    ),
    ("foreign", "how a foreign JSON format maps onto a scene or onto rules"),
    ("regex", "text rewriting scripts and where they apply"),
    ("task", "a task kind: sources, their arguments and shapes"),
    ("template", "a slot/layout template bound to a task"),
    ("artifact", "artifact declarations: tag, kind, writer, visibility, surface, inclusion, retention"),
    ("operation", "operations that read and write artifacts, with guards and effects"),
    ("capability", "what providers and models support; request policy; preflight invariants"),
    ("directive", "structured directive types, aliases, payload schemas, instruction text"),
    ("hooks", "script functions bound to events; custom macros, filters, passes"),
    ("scene", "what a pack may read and keep: paths, draw streams, states, budget groups, held lists"),
    ("overlay", "rows of any kind in one file, laid over a pack"),
    ("case", "rule tests"),
];
