//! Waiting for a store. The command line does one thing at a time.

/// Runs a future to its end.
#[cfg(feature = "full")]
pub(crate) use crate::store::block_on as wait;

/// Runs a future to its end. Without databases nothing waits for a clock or a socket, so no runtime is needed.
#[cfg(not(feature = "full"))]
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    use std::sync::Arc;
    use std::task::{Context, Poll, Wake, Waker};
    use std::thread::{Thread, current, park};

    struct ThreadWaker(Thread);

    impl Wake for ThreadWaker {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let waker = Waker::from(Arc::new(ThreadWaker(current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => park(),
        }
    }
}
