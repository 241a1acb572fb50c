//! Faults that users of the product found, with what the other programs answer: the folder `faults` beside that of
//! recordings. The cases of `others.json` say the same as recordings in a shorter form, and some are command lines.

use std::path::Path;

use serde_json::{Map, Value as Json, json};

use crate::case::Case;
use crate::suites::{self, Suite};

/// Fields of a message list or a request body that tell what is sent, and not with which settings.
const SENT: &[&str] = &["model", "messages", "system", "contents", "systemInstruction", "message", "chat_history", "preamble"];

/// The suites of faults beside a folder of recordings, with a notice for each that is not there.
pub(crate) fn suites(recordings: &Path) -> impl Iterator<Item = Suite> {
    let folder = recordings.parent().unwrap_or(recordings).join("faults");
    ["others", "sillytavern"].into_iter().filter_map(move |name| {
        let file = folder.join(format!("{name}.json"));
        let suite = suites::read(&file, format!("faults/{name}"));
        if suite.is_none() {
            println!("{} is not there: its cases do not run", file.display());
        }
        suite
    })
}

/// The cases of such a file as recordings. Those without a command line or an input are in words: `tests/all` has them.
pub(crate) fn cases(file: &Path) -> Option<Vec<Case>> {
    let faults: Vec<Map<String, Json>> = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    let cases: Vec<Case> = faults.iter().filter_map(case).collect();
    (!cases.is_empty()).then_some(cases)
}

/// The input with ids of messages where RisuAI itself puts them: in front.
fn numbered(mut input: Json) -> Json {
    for (n, message) in input["chat"]["message"].as_array_mut().into_iter().flatten().enumerate() {
        let mut fields = Map::from_iter([("chatId".to_owned(), json!(format!("m{n}")))]);
        fields.extend(message.as_object().cloned().unwrap_or_default());
        *message = Json::Object(fields);
    }
    input
}

fn case(fault: &Map<String, Json>) -> Option<Case> {
    let field = |key: &str| fault.get(key).cloned().unwrap_or_default();
    let kind = field("kind").as_str()?.to_owned();
    let (input, expected) = match kind.as_str() {
        "risuai-cbs" => (numbered(field("input")), json!({ "output": field("expected") })),
        "risuai-prompt" => {
            let mut input = field("input");
            input["bodyPick"] = json!(SENT);
            (input, json!({ "body": field("expected") }))
        }
        _ if field("command").is_array() => {
            (json!({ "command": field("command"), "files": field("files") }), json!({ "sent": field("expected") }))
        }
        _ => return None,
    };
    let name = format!("{} {}", field("id").as_str()?, field("cause").as_str()?);
    Some(Case { name, kind, input, pins: field("pins"), expected, accept: None })
}
