//! The door for C: five functions, of which `include/tapster.h` is made.

use std::ffi::{CStr, CString, c_char};
use std::path::PathBuf;
use std::ptr;
use std::thread::Builder;

use tapster_door::{Door, clock};

/// The bytes of the stack of a call, as main threads have.
const STACK: usize = 8 << 20;

/// What is opened, such as packs and files, until `tapster_free`.
pub struct TapsterDoor(Door);

/// Makes a door. It finds packs by name in these folders, before the shipped ones: a text of JSON such as `["packs"]`, or NULL.
/// Returns NULL if the text is not a list of texts.
///
/// # Safety
/// `folders` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapster_new(folders: *const c_char) -> *mut TapsterDoor {
    // SAFETY: it is not NULL and ends with a NUL, as the caller promises
    let folders = if folders.is_null() { b"[]" } else { unsafe { CStr::from_ptr(folders) }.to_bytes() };
    let Ok(folders) = serde_json::from_slice::<Vec<PathBuf>>(folders) else { return ptr::null_mut() };
    Box::into_raw(Box::new(TapsterDoor(Door::new(folders, Some(clock::now)))))
}

/// Answers a request, which is `length` bytes of JSON; bytes that are not JSON in UTF-8 are answered with an error. The response is a
/// text of JSON that ends with a NUL, for `tapster_free_text`. NULL: an argument is NULL, or there
/// is no memory, or this library has a bug.
///
/// # Safety
/// `door` is NULL or of `tapster_new`, and `request` is NULL or has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapster_call(door: *const TapsterDoor, request: *const u8, length: usize) -> *mut c_char {
    // no object has more bytes than that, so the length is a mistake
    if request.is_null() || isize::try_from(length).is_err() {
        return ptr::null_mut();
    }
    // SAFETY: it is NULL or a door that nobody has freed, as the caller promises
    let Some(TapsterDoor(door)) = (unsafe { door.as_ref() }) else { return ptr::null_mut() };
    // SAFETY: it is not NULL and has so many bytes, as the caller promises
    let request = unsafe { std::slice::from_raw_parts(request, length) };
    // on a stack of a known size: those of fibers, and of libraries that call C for others, are small, and the parsers that
    // measure theirs take them for full. The thread also keeps a panic from reaching C
    let response = std::thread::scope(|scope| {
        let thread = Builder::new().stack_size(STACK).spawn_scoped(scope, || door.call_text(request));
        thread.ok().and_then(|thread| thread.join().ok())
    });
    response.and_then(|text| CString::new(text).ok()).map_or(ptr::null_mut(), CString::into_raw)
}

/// Frees a response.
///
/// # Safety
/// `text` is NULL or of `tapster_call`, and was not freed before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapster_free_text(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: `tapster_call` made it by `into_raw`, as the caller promises
        drop(unsafe { CString::from_raw(text) });
    }
}

/// Frees a door and what it keeps. Responses stay.
///
/// # Safety
/// `door` is NULL or of `tapster_new`, was not freed before, and no thread is in a call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tapster_free(door: *mut TapsterDoor) {
    if !door.is_null() {
        // SAFETY: `tapster_new` made it by `into_raw`, as the caller promises
        drop(unsafe { Box::from_raw(door) });
    }
}

/// The version of the library; it is not freed.
#[unsafe(no_mangle)]
pub extern "C" fn tapster_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
