//! Scratch: the trees of rule files as JSON lines.
fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let json = tapster::machinery::pack::read::newest_words(&text).unwrap_or_default();
        println!("{}", serde_json::json!([path, json]));
    }
}
