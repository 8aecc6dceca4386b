//! The WeChat (ClawBot iLink) channel of scv.
//!
//! Pure parts first: `fields` reads one JSON object, `updates` and `decode` turn the answer
//! to a poll into messages, `outcome` judges the answer to a send with what `ledger` remembers,
//! `reader` decides which cursor may go out, `pace` how soon, `login`'s machine what a sign-in
//! does next. `exchange` alone waits for the network; `channel` and `session` put them together.

mod blank;
mod channel;
mod content;
mod credentials;
mod decode;
mod dedup;
mod exchange;
mod fields;
mod ledger;
mod limits;
mod login;
mod origin;
mod outcome;
mod pace;
mod quote;
mod reader;
mod refusal;
mod request;
mod retry_after;
mod session;
mod updates;

pub use channel::WeChat;
pub use session::WeChatSession;

/// What the plugin says about itself. Text over 16,384 bytes is refused, and of two messages on
/// one context token the second is taken and never shown (reported and seen live, 2026).
pub const MANIFEST: &str = scv_plugin_api::manifest!(include_str!("../manifest.json"));

#[cfg(feature = "export")]
scv_plugin_api::export_channel!(WeChat, crate::MANIFEST);

#[cfg(test)]
mod tests {
    use scv_plugin_api::wire::Manifest;

    use super::*;

    #[test]
    fn the_manifest_says_what_the_code_does() {
        let manifest = Manifest::read(MANIFEST.as_bytes()).expect("a manifest");
        assert_eq!(manifest.name, "wechat");
        let channel = &manifest.channels[0];
        assert_eq!(channel.limits.max_wait_ms, limits::MAX_WAIT_MS);
        assert_eq!(channel.login_options[0].name, channel::LOGIN_URL);
        assert_eq!(channel.login_options[0].default.as_deref(), Some(origin::DEFAULT_ORIGIN));
    }
}
