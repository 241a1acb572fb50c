//! `sillytavern-cli-build`: the files of a user, given to the command line with a scene file beside them. Nothing is laid
//! under them, so that the defaults are those of the pack.

use std::path::Path;

use serde_json::{Value as Json, json};
use tapster_cli::{Io, run};

use crate::case::{Case, Check};
use crate::compare::fits;

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
