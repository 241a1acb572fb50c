//! Files for a browser: a page whose engine is the server that gives it.

use axum::Router;
use axum::http::header;
use axum::routing::get;

/// A file of a page.
#[derive(Debug, Clone, Copy)]
pub struct PageFile {
    /// Its path at the server, such as `/page.js`.
    pub path: &'static str,
    /// Its media type.
    pub kind: &'static str,
    pub text: &'static str,
}

/// Routes of a page's files, to be merged with those of a server. They need no token: nothing in them is secret. Calls of the
/// page need one as all calls do.
pub fn page(files: &'static [PageFile]) -> Router {
    files.iter().fold(Router::new(), |router, file| {
        let headers = [
            (header::CONTENT_TYPE, file.kind),
            (header::CACHE_CONTROL, "no-cache"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::X_FRAME_OPTIONS, "DENY"),
        ];
        router.route(file.path, get(async move || (headers, file.text)))
    })
}
