//! The door for WebAssembly: six functions, which `tapster.js` calls. Nothing is imported, so there is no file, clock or network.

use std::ptr;

use tapster_door::Door;
use tapster_text::text::tokens;

/// What is opened, such as packs and files, until `tapster_free`.
pub struct TapsterDoor(Door);

/// A text in memory that the caller may write and read.
#[repr(C)]
pub struct TapsterText {
    start: *mut u8,
    length: usize,
}

impl TapsterText {
    fn of(bytes: Box<[u8]>) -> Self {
        let length = bytes.len();
        Self { start: Box::into_raw(bytes).cast(), length }
    }

    /// The bytes, which are dropped with what is returned.
    ///
    /// # Safety
    /// The text is of [`TapsterText::of`], and is not used any more.
    unsafe fn take(&self) -> Box<[u8]> {
        // SAFETY: `of` took the two from such a box, and nobody else does, as the caller promises
        unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(self.start, self.length)) }
    }
}

/// Makes a door.
#[unsafe(no_mangle)]
pub extern "C" fn tapster_new() -> *mut TapsterDoor {
    Box::into_raw(Box::new(TapsterDoor(Door::default())))
}

/// Makes a text of so many zeros. NULL: there is no memory for it.
#[unsafe(no_mangle)]
pub extern "C" fn tapster_text(length: usize) -> *mut TapsterText {
    let mut bytes = Vec::new();
    if bytes.try_reserve_exact(length).is_err() {
        return ptr::null_mut();
    }
    bytes.resize(length, 0);
    Box::into_raw(Box::new(TapsterText::of(bytes.into())))
}

/// Puts the response in place of a request, which is a text of JSON in UTF-8.
///
/// # Safety
/// `door` is of `tapster_new`, `text` of `tapster_text`, and neither was freed before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapster_call(door: *const TapsterDoor, text: *mut TapsterText) {
    // SAFETY: nobody has freed them, as the caller promises
    let (TapsterDoor(door), text) = unsafe { (&*door, &mut *text) };
    // SAFETY: it is replaced at once
    let request = unsafe { text.take() };
    let response = door.call_text(&request);
    *text = TapsterText::of(response.into_bytes().into());
}

/// Takes the bytes of a text as a table of tokens, which all doors count with from then on. False: it is none of this version.
///
/// # Safety
/// `text` is of `tapster_text` and was not freed before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapster_table(text: *const TapsterText) -> bool {
    // SAFETY: nobody has freed it, and it has so many bytes, as the caller promises
    let table = unsafe { std::slice::from_raw_parts((*text).start, (*text).length) };
    tokens::give_table(table).is_some()
}

/// Frees a text.
///
/// # Safety
/// `text` is of `tapster_text` and was not freed before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapster_free_text(text: *mut TapsterText) {
    // SAFETY: `tapster_text` made both, as the caller promises
    drop(unsafe { Box::from_raw(text).take() });
}

/// Frees a door and what it keeps.
///
/// # Safety
/// `door` is of `tapster_new` and was not freed before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapster_free(door: *mut TapsterDoor) {
    // SAFETY: `tapster_new` made it by `into_raw`, as the caller promises
    drop(unsafe { Box::from_raw(door) });
}

/// Seeds of hash tables, the same each time as those of the standard library are on this target. Nothing that the door answers
/// has another use for chance.
///
/// # Safety
/// There are `length` bytes at `to`.
#[cfg(target_family = "wasm")]
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(to: *mut u8, length: usize) -> Result<(), std::num::NonZeroU32> {
    // SAFETY: there are so many, as the caller promises
    unsafe { to.write_bytes(0x5a, length) };
    Ok(())
}
