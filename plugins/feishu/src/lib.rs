//! The Feishu and Lark channel of scv.
//!
//! Pure parts first: `wire` reads and writes frames, keeps the pings' time and joins split
//! events; `message` turns events and history into messages; `checkpoint` knows how far each chat
//! was read; `outgoing` makes text safe to send. `rest` and `socket` are the two ways to the
//! platform, `catchup` reads what was missed, and `session` puts them together.

mod bot;
mod brand;
mod catchup;
mod channel;
mod checkpoint;
mod credentials;
mod endpoint;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod limits;
mod login;
mod message;
mod outgoing;
mod reader;
mod rest;
mod send;
mod session;
mod socket;
mod wire;

pub use channel::Feishu;
pub use session::FeishuSession;

/// What the plugin says about itself. The platform takes 150 KB of text in a message and any
/// number of replies to one; parts are kept as small as people can read.
pub const MANIFEST: &str = scv_plugin_api::manifest!(include_str!("../manifest.json"));

#[cfg(feature = "export")]
scv_plugin_api::export_channel!(Feishu, crate::MANIFEST);

#[cfg(test)]
mod tests {
    use scv_plugin_api::wire::Manifest;

    use super::*;

    #[test]
    fn the_manifest_says_what_the_code_does() {
        let manifest = Manifest::read(MANIFEST.as_bytes()).expect("a manifest");
        assert_eq!(manifest.name, "feishu");
        let channel = &manifest.channels[0];
        assert_eq!(channel.names().collect::<Vec<_>>(), ["feishu", "lark"]);
        assert_eq!(channel.limits.max_wait_ms, limits::MAX_WAIT_MS);
        assert_eq!(channel.limits.sends_per_reply, None);
        let options = channel.login_options.iter().map(|option| option.name.as_str());
        assert_eq!(options.collect::<Vec<_>>(), [channel::APP_ID, channel::OWNER_OPEN_ID]);
    }
}
