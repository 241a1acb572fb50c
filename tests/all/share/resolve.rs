//! Which releases are taken: the newest that fit everybody, what is there first, and clear errors otherwise.

use semver::{Version, VersionReq};
use tapster_exchange::share::manifest::PackDependency;
use tapster_exchange::share::resolve::{PackRequest, ReleaseCandidate, resolve};

/// Releases of packs: name, release, what it extends (`name range`).
type World = &'static [(&'static str, &'static str, &'static [&'static str])];

fn need(text: &str) -> PackDependency {
    let (name, range) = text.split_once(' ').map_or((text, None), |(name, range)| (name, Some(range)));
    PackDependency { name: name.to_owned(), release: range.map(|range| VersionReq::parse(range).unwrap()) }
}

/// What is chosen, as `name release`, or the error.
fn chosen(world: World, asked: &[&str]) -> Result<Vec<String>, String> {
    let candidates = |name: &str| {
        let of = world.iter().filter(|(n, ..)| *n == name);
        let candidate = |(_, release, extends): &(&str, &str, &[&str])| ReleaseCandidate {
            release: Version::parse(release).unwrap(),
            extends: extends.iter().map(|text| need(text)).collect(),
            engine: (*release == "9.0.0").then(|| VersionReq::parse(">=99").unwrap()),
            source: (),
        };
        of.map(candidate).collect()
    };
    let asked = asked.iter().map(|text| PackRequest { need: need(text), by: "you".to_owned() }).collect();
    let done = resolve(asked, &Version::new(0, 1, 0), &candidates).map_err(|fault| {
        assert!(fault.help.is_some());
        format!("{}: {}", fault.code.as_str(), fault.message)
    })?;
    Ok(done.into_iter().map(|(name, candidate)| format!("{name} {}", candidate.release)).collect())
}

#[test]
fn the_first_that_fits_everybody_is_taken() {
    let world: World = &[
        ("top", "1.0.0", &["left ^1", "right ^1"]),
        ("left", "1.1.0", &["low ^2"]),
        ("left", "1.0.0", &["low ^1"]),
        ("right", "1.0.0", &["low ^1"]),
        ("low", "2.0.0", &[]),
        ("low", "1.5.0", &[]),
    ];
    // the newest `left` asks for a `low` that `right` cannot use, so an older one is taken
    assert_eq!(chosen(world, &["top"]).unwrap(), ["left 1.0.0", "low 1.5.0", "right 1.0.0", "top 1.0.0"]);
    assert_eq!(chosen(world, &["left"]).unwrap(), ["left 1.1.0", "low 2.0.0"]);
    assert_eq!(chosen(world, &["left", "low <2"]).unwrap(), ["left 1.0.0", "low 1.5.0"]);
}

#[test]
fn what_cannot_be_had_is_said_with_who_asks() {
    let world: World = &[
        ("a", "1.0.0", &["low ^1"]),
        ("b", "1.0.0", &["low ^2"]),
        ("low", "2.0.0", &[]),
        ("low", "1.0.0", &[]),
        ("gone", "1.0.0", &["nowhere"]),
        ("far", "1.0.0", &["low ^7"]),
        ("engine", "9.0.0", &[]),
    ];
    let conflict = chosen(world, &["a", "b"]).unwrap_err();
    assert!(
        conflict.starts_with("pack.version: no release of `low` fits") && conflict.contains("`a`") && conflict.contains("`b`"),
        "{conflict}"
    );
    let missing = chosen(world, &["gone"]).unwrap_err();
    assert!(missing.starts_with("share.unmet: `nowhere` is needed by `gone` 1.0.0"), "{missing}");
    let range = chosen(world, &["far"]).unwrap_err();
    assert!(range.contains("`^7`") && range.contains("2.0.0, 1.0.0"), "{range}");
    let engine = chosen(world, &["engine"]).unwrap_err();
    assert!(engine.contains("does not work with this engine"), "{engine}");
}

#[test]
fn circles_are_shown() {
    let world: World = &[("a", "1.0.0", &["b"]), ("b", "1.0.0", &["c"]), ("c", "1.0.0", &["b"]), ("self", "1.0.0", &["self"])];
    assert_eq!(chosen(world, &["a"]).unwrap_err(), "cycle.pack: packs extend each other in a circle: b → c → b");
    assert_eq!(chosen(world, &["self"]).unwrap_err(), "cycle.pack: packs extend each other in a circle: self → self");
}

#[test]
fn the_search_is_bounded() {
    // every combination of 40 releases of 10 packs fails at the last one
    let names: Vec<String> = (0..10).map(|n| format!("p{n}")).collect();
    let candidates = |name: &str| -> Vec<ReleaseCandidate<()>> {
        let at = names.iter().position(|n| n == name);
        let releases = (0..40).rev().filter(|_| at.is_some());
        releases
            .map(|n| {
                let next = at.map_or_else(|| "end".to_owned(), |at| names.get(at + 1).cloned().unwrap_or_else(|| "end".to_owned()));
                ReleaseCandidate { release: Version::new(1, n, 0), extends: vec![need(&next)], engine: None, source: () }
            })
            .collect()
    };
    let asked = vec![PackRequest { need: need("p0"), by: "you".to_owned() }];
    let fault = resolve(asked, &Version::new(0, 1, 0), &candidates).unwrap_err();
    assert!(fault.message.contains("too many"), "{}", fault.message);
}
