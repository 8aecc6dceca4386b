//! Tells a session that the host is closing it.

use tokio_util::sync::CancellationToken;

/// Fires once, when the host closes the session. Clones are the same signal.
#[derive(Debug, Clone, Default)]
pub struct Stop(CancellationToken);

impl Stop {
    /// One that fires when [`Stop::fire`] is called; for a plugin's own tests.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Fires; the SDK does this when the host closes the session.
    pub fn fire(&self) {
        self.0.cancel();
    }

    /// Waits until it fires. Safe to drop.
    pub async fn fired(&self) {
        self.0.cancelled().await;
    }

    /// Whether it has fired.
    #[must_use]
    pub fn has_fired(&self) -> bool {
        self.0.is_cancelled()
    }
}
