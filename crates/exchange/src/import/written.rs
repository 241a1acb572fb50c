//! Writing a document as a file of another program: the ending of the file's name says which container holds it.

use serde_json::Value as Json;

use super::{container, failed, write_card, write_module};
use crate::diag::depth::{DEEPEST_JSON, nests_deeper};
use crate::diag::short::listed;
use crate::diag::{Code, Diagnostic, Report};

/// The endings of file names that [`write()`] knows, each with what such a file holds.
pub const WRITTEN: &[(&str, &str)] = &[
    ("json", "any document"),
    ("png", "a card in a picture"),
    #[cfg(feature = "packed")]
    ("risup", "a packed preset"),
    ("risum", "a packed module"),
];

/// Whether a file with this ending is a picture, which [`write()`] needs to be given.
#[must_use]
pub fn needs_picture(ending: &str) -> bool {
    ending == "png"
}

/// The bytes of a file that holds `document`, for the ending of its name in lower case. `picture` is the PNG file that a
/// card is written to; other endings ignore it.
///
/// # Errors
/// No file with this ending can be written, the picture is missing or damaged, or the document is too large or nested too
/// deeply for its file.
pub fn write(ending: &str, document: &Json, picture: Option<&[u8]>) -> Result<Vec<u8>, Report> {
    let (document, deepest) = match ending {
        // a packed module stands inside of another table
        "risum" => (document.get("module").unwrap_or(document), DEEPEST_JSON - 1),
        _ => (document, DEEPEST_JSON),
    };
    if nests_deeper(document, deepest) {
        let message = format!("the document is nested deeper than {deepest} levels, so that nothing could read its `.{ending}` file");
        return Err(failed(Diagnostic::new(Code::FileTooDeep, message).help("make it flatter")));
    }
    match ending {
        "json" => Ok(format!("{document:#}\n").into_bytes()),
        "png" => {
            let picture =
                picture.ok_or_else(|| failed(container("the card", "needs a picture to be written to").help("give a PNG file")))?;
            let third = document.get("spec").and_then(Json::as_str) == Some("chara_card_v3");
            write_card(picture, &[(if third { "ccv3" } else { "chara" }, document)])
        }
        #[cfg(feature = "packed")]
        "risup" => super::write_preset(document),
        "risum" => write_module(document),
        other => {
            let known = listed(WRITTEN.iter().map(|(ending, _)| *ending));
            let message = format!("there is no way to write a `.{other}` file");
            Err(failed(Diagnostic::new(Code::ImportContainer, message).help(format!("use one of the endings {known}"))))
        }
    }
}
