//! Every shipped pack loads, links and compiles clean.

use tapster::Ruleset;

#[test]
fn every_shipped_pack_compiles() {
    for name in tapster::pack::library::shipped_names() {
        match Ruleset::open(&name, &[]) {
            Ok(rules) => assert!(rules.warnings().is_empty(), "{name}: {:?}", rules.warnings().items()),
            Err(rejected) => panic!("{name}:\n{rejected}"),
        }
    }
}
