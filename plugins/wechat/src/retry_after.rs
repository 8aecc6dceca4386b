//! How long a server asks to wait.

use crate::limits::RETRY_AFTER_MS;

/// A `Retry-After` in seconds, at most an hour. The form with a date is not read: it needs the
/// server's clock.
pub(crate) fn retry_after_ms(header: Option<&str>) -> Option<u64> {
    let seconds: u64 = header?.trim().parse().ok()?;
    Some(seconds.saturating_mul(1000).min(RETRY_AFTER_MS))
}
