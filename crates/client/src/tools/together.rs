//! Waiting for several things at once, without a runtime.

use std::future::poll_fn;
use std::task::Poll;

use super::super::BoxFuture;

/// Waits for something unless `limit` is over first; it begins only if there is something to wait for.
pub(crate) async fn within<'a, T>(mut doing: BoxFuture<'a, T>, limit: impl FnOnce() -> BoxFuture<'a, ()>) -> Option<T> {
    let mut begin = Some(limit);
    let mut limit: Option<BoxFuture<'a, ()>> = None;
    poll_fn(|cx| {
        if let Poll::Ready(result) = doing.as_mut().poll(cx) {
            return Poll::Ready(Some(result));
        }
        if let Some(begin) = begin.take() {
            limit = Some(begin());
        }
        match &mut limit {
            Some(limit) => limit.as_mut().poll(cx).map(|()| None),
            None => Poll::Pending,
        }
    })
    .await
}

/// Waits until all are done, and gives their results in order.
pub(crate) async fn together<T>(doing: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut all: Vec<Result<T, BoxFuture<'_, T>>> = doing.into_iter().map(Err).collect();
    poll_fn(|cx| {
        let mut waiting = false;
        for one in &mut all {
            if let Err(doing) = one {
                match doing.as_mut().poll(cx) {
                    Poll::Ready(result) => *one = Ok(result),
                    Poll::Pending => waiting = true,
                }
            }
        }
        if waiting { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    all.into_iter().filter_map(Result::ok).collect()
}
