//! Keeps panics inside: a panic that left the plugin would end the host's process.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use tokio::runtime::Handle;

use super::owned::Quiet;
use crate::{
    Result,
    wire::{Fault, FaultKind},
};

/// Runs author code and turns a panic into a fault with a fixed text: the panic's own text may
/// hold a secret. Where it happened went to the log, in the panic hook.
pub(super) fn catch<T>(code: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|payload| {
        // Dropping a payload may panic again, so it is leaked.
        std::mem::forget(payload);
        Fault::new(FaultKind::Panicked, "the plugin panicked; its log says where")
    })
}

/// A future of an author: a panic in it is its result, and dropping it never panics.
pub(super) struct Guarded<F>(Quiet<Pin<Box<F>>>);

impl<F> Guarded<F> {
    pub(super) fn new(future: F, runtime: &Handle) -> Self {
        Self(Quiet::new(Box::pin(future), runtime))
    }
}

impl<T, F: Future<Output = Result<T>>> Future for Guarded<F> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let future = self.0.get_mut().as_mut();
        match catch(|| future.poll(context)) {
            Ok(poll) => poll,
            Err(panicked) => Poll::Ready(Err(panicked)),
        }
    }
}
