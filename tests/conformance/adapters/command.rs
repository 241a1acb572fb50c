//! Kinds that are command lines: `command` over `files`, and the messages that it prints.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use tapster_cli::{Io, run};

use crate::case::{Case, Check, same};

/// One run in a folder of its own. An answer in words is that the run does not fail.
pub(crate) fn recorded(case: &Case) -> Vec<Check> {
    let sent = ran(case).unwrap_or_else(|error| json!({ "error": error }));
    vec![case.check(json!({ "sent": sent }), |want, have| match want["sent"].as_str() {
        Some(_) => have["sent"]["error"].is_null(),
        None => same(want, have),
    })]
}

fn ran(case: &Case) -> Result<Json, String> {
    let folder = std::env::temp_dir().join(format!("tapster-command-{}", std::process::id()));
    let written = write(&folder, &case.input["files"]);
    let ran = written.and_then(|()| answer(&folder, &case.input["command"]));
    // what is left over in a folder for temporary files does no harm
    let _ = std::fs::remove_dir_all(&folder);
    ran
}

fn write(folder: &Path, files: &Json) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|e| e.to_string())?;
    for (name, file) in files.as_object().into_iter().flatten() {
        let bytes = match (file.as_str(), file["base64"].as_str()) {
            (Some(text), _) => text.as_bytes().to_vec(),
            (_, Some(coded)) => decoded(coded),
            _ => file.to_string().into_bytes(),
        };
        std::fs::write(folder.join(name), bytes).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// What a command line prints on standard output as JSON, or else as a text; the diagnostics if it fails.
fn answer(folder: &Path, command: &Json) -> Result<Json, String> {
    let place = |word: &str| -> OsString {
        let path: PathBuf = folder.join(word);
        if path.is_file() { path.into() } else { word.into() }
    };
    let words = command.as_array().into_iter().flatten().filter_map(Json::as_str).map(place);
    let (mut input, mut out, mut err) = (&b""[..], Vec::new(), Vec::new());
    let exit = run(words, &mut Io { input: &mut input, out: &mut out, err: &mut err, terminal: false, env: &|_| None });
    if exit.code() != 0 {
        return Err(String::from_utf8_lossy(&err).into_owned());
    }
    let printed: Json = serde_json::from_slice(&out).unwrap_or_else(|_| json!(String::from_utf8_lossy(&out)));
    Ok(if printed["messages"].is_array() { printed["messages"].clone() } else { printed })
}

/// The bytes of a text in base64; none for what is no base64.
fn decoded(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).unwrap_or_default()
}

/// `sillytavern-cli-build`: the files of a user, given to the command line with a scene file beside them. Nothing is laid
/// under them, so that the defaults are those of the pack.
pub(super) mod build {
    use std::path::Path;

    use serde_json::{Value as Json, json};
    use tapster_cli::{Io, run};

    use crate::case::{Case, Check, fits};

    /// The payload that `tapster build` prints, as far as it was recorded.
    pub(crate) fn recorded(case: &Case) -> Vec<Check> {
        let actual = built(&case.input).unwrap_or_else(|why| json!(why));
        vec![case.check(actual, fits)]
    }

    fn built(input: &Json) -> Result<Json, String> {
        let folder = std::env::temp_dir().join(format!("tapster-cli-build-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        let payload = built_in(&folder, input);
        // what is left behind lies in a folder of leftovers
        let _ = std::fs::remove_dir_all(&folder);
        payload
    }

    fn built_in(folder: &Path, input: &Json) -> Result<Json, String> {
        let lay = |name: &str, content: &Json| {
            let text = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
            std::fs::write(folder.join(name), text).map_err(|e| format!("{name}: {e}"))
        };
        input["files"].as_object().into_iter().flatten().try_for_each(|(name, content)| lay(name, content))?;
        lay("scene.json", &input["scene"])?;
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let env = |name: &str| std::env::var_os("TAPSTER_RULES").filter(|_| name == "TAPSTER_PACKS");
        let mut io = Io { input: &mut std::io::empty(), out: &mut out, err: &mut err, terminal: false, env: &env };
        let args = ["tapster".into(), "build".into(), folder.join("scene.json").into_os_string()];
        if run(args, &mut io).code() != 0 {
            return Err(String::from_utf8_lossy(&err).into_owned());
        }
        serde_json::from_slice(&out).map_err(|e| e.to_string())
    }
}
