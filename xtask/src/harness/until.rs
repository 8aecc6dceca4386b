//! Waiting for a condition.

use std::time::Duration;

use anyhow::{Result, bail};

/// Between two looks at something that tells nobody when it changes.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Looks until there is something to see, at most for `limit`.
///
/// # Errors
/// An error of `look`, or a text with `what` in it when the time is over.
pub async fn until<T>(
    what: &str,
    limit: Duration,
    mut look: impl AsyncFnMut() -> Result<Option<T>>,
) -> Result<T> {
    let looking = async {
        loop {
            if let Some(seen) = look().await? {
                return Ok(seen);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    match tokio::time::timeout(limit, looking).await {
        Ok(result) => result,
        Err(_) => bail!("waited {} s in vain for this: {what}", limit.as_secs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_thing_seen_is_given() {
        let mut looks = 0;
        let seen = until("the third look", Duration::from_secs(5), async || {
            looks += 1;
            Ok((looks == 3).then_some(looks))
        })
        .await;
        assert_eq!(seen.unwrap(), 3);
    }

    #[tokio::test]
    async fn a_limit_and_an_error_end_it() {
        let never = until("pigs fly", Duration::ZERO, async || Ok(None::<()>)).await;
        assert!(never.unwrap_err().to_string().contains("pigs fly"));
        let error =
            until("x", Duration::from_secs(5), async || -> Result<Option<()>> { bail!("broken") });
        assert_eq!(error.await.unwrap_err().to_string(), "broken");
    }
}
