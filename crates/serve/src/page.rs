//! The page at `/`: `page/` as it was bundled. Its engine is the server that gives it.

use axum::Router;
use axum::http::header;
use axum::routing::get;

/// The files of the page: path, type, content.
const FILES: [(&str, &str, &str); 5] = [
    ("/", "text/html; charset=utf-8", include_str!("../page/index.html")),
    ("/page.js", "text/javascript", include_str!("../page/page.js")),
    ("/worker.js", "text/javascript", include_str!("../page/worker.js")),
    ("/page.css", "text/css", include_str!("../page/page.css")),
    ("/gallery.json", "application/json", include_str!("../page/gallery.json")),
];

/// The routes of the page, which need no token: nothing in it is secret. Its calls need one as all calls do.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    FILES.into_iter().fold(Router::new(), |router, (path, kind, text)| {
        let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache"), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
        router.route(path, get(async move || (headers, text)))
    })
}
