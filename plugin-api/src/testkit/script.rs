//! What an author writes for the kit: the fake platform of the plugin.

use std::{collections::BTreeMap, future::Future};

use serde_json::Value;

use crate::wire::{CreateConfig, LoginEventBody, PromptAnswer, Secret};

/// A platform on loopback with one bot and one person who writes to it.
///
/// Every case starts a fresh one. What a platform has no such thing for stays at its default;
/// the cases that need it are then excluded, and say so.
pub trait PlatformScript: Send + Sync + Sized + 'static {
    /// Starts it, without messages. Its waits should be short: a poll without news ends soon.
    fn start() -> impl Future<Output = Self> + Send;

    /// What the plugin is created with: settings that lead it here.
    fn config(&self) -> CreateConfig {
        CreateConfig::default()
    }

    /// Credentials that the platform takes.
    fn credentials(&self) -> Value;

    /// The parts of the credentials that must never be seen in logs and faults.
    fn secrets(&self) -> Vec<String>;

    /// Credentials of the right form that the platform refuses.
    fn bad_credentials(&self) -> Option<Value> {
        None
    }

    /// A checkpoint that is none.
    fn bad_checkpoint(&self) -> Option<String> {
        None
    }

    /// The person writes these texts, in this order; their ids, as the plugin must report them.
    fn inbound(&self, texts: &[String]) -> impl Future<Output = Vec<String>> + Send;

    /// The texts that the person was shown so far, in order.
    fn shown(&self) -> impl Future<Output = Vec<String>> + Send;

    /// Every open connection breaks, once.
    fn cut(&self) -> bool {
        false
    }

    /// The next send is refused for good.
    fn refuse_next(&self) -> bool {
        false
    }

    /// The next send fails in a way that passes: a status 503, say.
    fn fail_next(&self) -> bool {
        false
    }

    /// Whether two sends with one `client_id` are shown once.
    fn knows_client_ids(&self) -> bool {
        false
    }

    /// The clock by which the platform dates messages jumps, back when this is negative: for the
    /// plugin the same as if the clock of its own machine had jumped the other way.
    fn jump_clock(&self, by_ms: i64) -> bool {
        let _ = by_ms;
        false
    }

    /// Options for a sign-in that leads here.
    fn login_options(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// What the person does when a sign-in shows this: scans, confirms, answers.
    fn person(&self, event: &LoginEventBody) -> PromptAnswer {
        let asked = matches!(event, LoginEventBody::Prompt { .. });
        PromptAnswer { answer: asked.then(|| Secret::new(String::from("yes"))), cancelled: false }
    }

    /// From now on every sign-in ends because nobody confirmed it in time.
    fn expire_logins(&self) -> bool {
        false
    }

    /// Cases that this platform cannot play, each with the reason; they are printed.
    fn excluded() -> &'static [(&'static str, &'static str)] {
        &[]
    }
}
