//! The webhook channel of scv: any program on this machine writes to the agent over HTTP.
//!
//! A request is signed with a secret that both sides know (`signature`, `nonces`). Messages
//! wait in the `inbox` until the host has them on disk; only then is the request that brought
//! them answered. Replies are posted to a `callback`, or wait in the `outbox` until they are
//! fetched. `server` and `routes` are the HTTP between; `channel` and `session` put it together.

mod callback;
mod channel;
mod credentials;
mod inbox;
mod limits;
mod messages;
mod nonces;
mod outbox;
mod routes;
mod server;
mod session;
mod signature;

pub use channel::Webhook;
pub use session::WebhookSession;
pub use signature::{Signed, sign};

/// What the plugin says about itself.
pub const MANIFEST: &str = scv_plugin_api::manifest!(include_str!("../manifest.json"));

#[cfg(feature = "export")]
scv_plugin_api::export_channel!(Webhook, crate::MANIFEST);

#[cfg(test)]
mod tests {
    use scv_plugin_api::wire::Manifest;

    use super::*;

    #[test]
    fn the_manifest_says_what_the_code_does() {
        let manifest = Manifest::read(MANIFEST.as_bytes()).unwrap();
        let channel = &manifest.channels[0];
        assert_eq!(u64::from(channel.limits.max_wait_ms), limits::MAX_WAIT_MS);
        let names: Vec<_> = channel.login_options.iter().map(|o| o.name.as_str()).collect();
        assert_eq!(names, [channel::LISTEN, channel::CALLBACK, channel::OWNER]);
    }
}
