//! When a request is made again, and after how long.

use std::time::{Duration, SystemTime};

use crate::{
    id,
    limits::{MAX_RETRY_AFTER_SECONDS, RETRY_DELAY_MS},
};

/// Statuses that another try may change. 499 is what some proxies say for 503.
pub(super) const fn is_retryable(status: u16) -> bool {
    matches!(status, 408 | 409 | 425 | 429 | 499 | 500..=599)
}

/// The delay before retry `number`, counted from 0: what the server asks for within a minute, or
/// 1 s and 2 s, each give or take a tenth.
pub(super) fn delay(number: u32, after: Option<Duration>) -> Duration {
    after.filter(|after| *after <= Duration::from_secs(MAX_RETRY_AFTER_SECONDS)).unwrap_or_else(
        || {
            let delay = Duration::from_millis(RETRY_DELAY_MS) * 2_u32.pow(number.min(8));
            delay.mul_f64(0.9 + 0.2 * id::fraction())
        },
    )
}

/// Reads `retry-after-ms`, or `Retry-After` in seconds or as a date.
pub(super) fn retry_after<'a>(header: impl Fn(&str) -> Option<&'a str>) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let duration = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
    if let Some(millis) = header("retry-after-ms").and_then(number) {
        return duration(millis / 1000.0);
    }
    let text = header("retry-after")?;
    if let Some(seconds) = number(text) {
        return duration(seconds);
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_with_jitter_unless_the_server_says_otherwise() {
        for (number, seconds) in [(0, 1.0), (1, 2.0)] {
            let delay = delay(number, None).as_secs_f64();
            assert!((seconds * 0.9..=seconds * 1.1).contains(&delay), "{delay}");
        }
        let asked = Duration::from_millis(300);
        assert_eq!(delay(0, Some(asked)), asked);
        assert!(delay(0, Some(Duration::from_secs(61))) < Duration::from_secs(2));
    }

    #[test]
    fn reads_every_form_of_retry_after() {
        let read = |name: &'static str, value: &'static str| {
            retry_after(move |asked| (asked == name).then_some(value))
        };
        assert_eq!(read("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(read("retry-after-ms", "1500"), Some(Duration::from_millis(1500)));
        assert_eq!(read("retry-after", "Thu, 01 Jan 1970 00:00:00 GMT"), Some(Duration::ZERO));
        assert_eq!(read("retry-after", "soon"), None);
        assert_eq!(read("retry-after", "-1"), None);
        assert_eq!(read("x", "1"), None);
    }
}
