//! The app's token, and how long it is good.

use std::time::Duration;

use scv_plugin_api::wire::Secret;
use tokio::time::Instant;

use super::Answer;
use crate::limits::{TOKEN_MARGIN_SECONDS, TOKEN_MAX_SECONDS};

/// At most one token.
#[derive(Default)]
pub(super) struct Tokens {
    known: Option<(Secret, Instant)>,
}

impl Tokens {
    /// The token, until ten minutes before its end.
    pub(super) fn current(&self) -> Option<Secret> {
        let (token, end) = self.known.as_ref()?;
        (Instant::now() < *end).then(|| token.clone())
    }

    /// Remembers what the platform gave; none when there is no token in it. One that is short of
    /// its end serves this once.
    pub(super) fn learn(&mut self, answer: &Answer) -> Option<Secret> {
        let token =
            answer.body()["tenant_access_token"].as_str().filter(|token| !token.is_empty())?;
        let seconds = answer.body()["expire"].as_u64().unwrap_or_default().min(TOKEN_MAX_SECONDS);
        let good = Duration::from_secs(seconds.saturating_sub(TOKEN_MARGIN_SECONDS));
        let token = Secret::new(token.to_owned());
        self.known = Some((token.clone(), Instant::now() + good));
        Some(token)
    }

    /// Forgets a token that was refused, unless another one is known by now.
    pub(super) fn forget(&mut self, refused: &Secret) {
        self.known.take_if(|(token, _)| token == refused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rest::answer::tests::answer;

    #[tokio::test(start_paused = true)]
    async fn a_token_is_good_until_ten_minutes_before_its_end() {
        let mut tokens = Tokens::default();
        let given = answer(200, r#"{"code":0,"tenant_access_token":"t-1","expire":7200}"#);
        tokens.learn(&given).expect("a token");
        tokio::time::advance(Duration::from_secs(6599)).await;
        assert!(tokens.current().is_some());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(tokens.current().is_none());
    }

    #[tokio::test]
    async fn only_the_refused_token_is_forgotten() {
        let mut tokens = Tokens::default();
        let first = answer(200, r#"{"code":0,"tenant_access_token":"t-1","expire":7200}"#);
        let old = tokens.learn(&first).expect("a token");
        let second = answer(200, r#"{"code":0,"tenant_access_token":"t-2","expire":7200}"#);
        tokens.learn(&second).expect("a token");
        tokens.forget(&old);
        assert_eq!(tokens.current().expect("the new one").expose(), "t-2");
        assert!(tokens.learn(&answer(200, r#"{"code":0}"#)).is_none());
    }
}
