//! What the tests share.

pub(crate) mod agent;
pub(crate) mod faulty;
pub(crate) mod home;
pub(crate) mod platform;
pub(crate) mod power;
pub(crate) mod run;

use std::{future::Future, time::Duration};

use tokio::sync::Notify;

/// Waits until `look` finds something; `changed` tells when to look again.
pub(crate) async fn wait_for<T>(changed: &Notify, what: &str, look: impl Fn() -> Option<T>) -> T {
    let wait = async {
        loop {
            let notified = changed.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if let Some(found) = look() {
                return found;
            }
            notified.await;
        }
    };
    in_time(what, wait).await
}

/// Fails the test when a future takes a day (virtual time in most tests).
pub(crate) async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(24 * 3_600), future).await {
        Ok(value) => value,
        Err(_) => panic!("waited in vain for {what}"),
    }
}

/// Looks every 10 ms (virtual time) until `look` finds something: for what tells no one.
pub(crate) async fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = look() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    in_time(what, looking).await
}
