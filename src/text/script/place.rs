//! Where a script is: the place of the value that it used last.
//!
//! The interpreter gives an error that ends a whole call, such as one of a limit, the place of the outermost call, and that
//! one has none. What pays for a value knows where it stands.

use std::cell::RefCell;
use std::sync::Arc;

use rhai::Position;

/// A place, and the file that it is in; no file if the script is in none.
#[derive(Debug, Default, Clone)]
pub(super) struct Place {
    pub(super) at: Position,
    pub(super) file: Option<Arc<str>>,
}

thread_local! {
    static LAST: RefCell<Place> = RefCell::default();
}

/// Notes that a value is used.
pub(super) fn note(at: Position, file: Option<&str>) {
    LAST.with_borrow_mut(|last| {
        last.at = at;
        if last.file.as_deref() != file {
            last.file = file.map(Arc::from);
        }
    });
}

/// Where the running call is, if it has used a value.
pub(super) fn last() -> Option<Place> {
    LAST.with_borrow(|last| (!last.at.is_none()).then(|| last.clone()))
}

/// Begins anew for another call; gives the place of the one that is interrupted. The file is kept: the next call is often
/// one of the same script.
pub(super) fn begin() -> Place {
    LAST.with_borrow_mut(|last| {
        let before = Place { at: last.at, file: if last.at.is_none() { None } else { last.file.clone() } };
        last.at = Position::NONE;
        before
    })
}

/// Goes on with the call that was interrupted.
pub(super) fn resume(place: Place) {
    LAST.with_borrow_mut(|last| {
        last.at = place.at;
        if !place.at.is_none() {
            last.file = place.file;
        }
    });
}
