//! The words of `[rhai]`: each must name something that scripts are given, because a word with a slip looks like a right and is
//! none.

use std::sync::Arc;

use crate::diag::{Code, Span};
use crate::model::rights::SCENE;

use super::context::{CompileContext, ItemScope};

/// Reports the words that name no path of the scene, no list and no field of its items.
pub fn check(cx: &mut CompileContext<'_>) {
    let words: Vec<(Arc<str>, Span)> = cx.pack.rights.values().flat_map(|rights| rights.places.iter().cloned()).collect();
    for (word, span) in words {
        cx.check_right(&word, span);
    }
}

impl CompileContext<'_> {
    fn check_right(&mut self, word: &str, span: Span) {
        if word == SCENE {
            return;
        }
        if let Some(path) = word.strip_prefix(SCENE).and_then(|rest| rest.strip_prefix('.')) {
            self.check_path(path, span);
            return;
        }
        let names: Vec<Arc<str>> = word.split('.').map(Arc::from).collect();
        let Some((list, taken)) = self.list_prefix(&names) else {
            let name = names.first().map_or(word, AsRef::as_ref);
            if self.names.knows_path(word) {
                let help = format!("a path of the scene is written `{SCENE}.{word}`");
                self.fail(Code::NameUnknown, span, format!("there is no list `{name}`"), Some(help));
                return;
            }
            let mut known: Vec<Arc<str>> = self.lists.iter().map(|list| list.name.clone()).collect();
            known.push(SCENE.into());
            self.unknown("list", name, span, known.iter().map(AsRef::as_ref));
            return;
        };
        let Some(field) = names.get(taken).filter(|field| field.as_ref() != "index") else { return };
        match self.rows_of(list) {
            ItemScope::Rows(rows) if rows.is_empty() => {}
            scope => self.within(scope, |cx| cx.check_field(0, field, span)),
        }
    }
}
