//! The limits and forms that documents must keep, checked on both sides.

use std::collections::BTreeSet;

#[cfg(feature = "plugin")]
use super::LoginRequest;
use super::{Batch, ChannelManifest, Fault, Inbound, Manifest, decode};
use crate::limits::{
    MAX_BATCH_MESSAGES_COUNT, MAX_CHECKPOINT_BYTES, MAX_DEDUP_KEY_BYTES, MAX_MESSAGE_ID_BYTES,
    MAX_NAME_BYTES, MAX_REPLY_TOKEN_BYTES, MAX_THREADS_COUNT, MAX_WAIT_MS,
};

impl Batch {
    /// Whether the batch keeps the limits of the boundary.
    ///
    /// # Errors
    /// [`FaultKind::Protocol`](super::FaultKind::Protocol), naming the limit.
    pub fn check(&self) -> Result<(), Fault> {
        if self.token.is_empty() || self.token.len() > MAX_MESSAGE_ID_BYTES {
            return Err(Fault::protocol("a batch needs a token of 1 to 256 bytes"));
        }
        if self.checkpoint.len() > MAX_CHECKPOINT_BYTES {
            return Err(Fault::protocol("a checkpoint is larger than 64 KiB"));
        }
        if self.messages.len() > MAX_BATCH_MESSAGES_COUNT {
            return Err(Fault::protocol("a batch has more than 256 messages"));
        }
        self.messages.iter().try_for_each(Inbound::check)
    }
}

impl Inbound {
    fn check(&self) -> Result<(), Fault> {
        if self.id.is_empty() || self.id.len() > MAX_MESSAGE_ID_BYTES {
            return Err(Fault::protocol("a message needs an id of 1 to 256 bytes"));
        }
        let dedup = self.dedup_key.as_ref().map_or(0, String::len);
        if dedup > MAX_DEDUP_KEY_BYTES {
            return Err(Fault::protocol("a dedup_key is larger than 128 bytes"));
        }
        let reply = self.reply_token.as_ref();
        if reply.map_or(0, |token| token.expose().len()) > MAX_REPLY_TOKEN_BYTES {
            return Err(Fault::protocol("a reply_token is larger than 4 KiB"));
        }
        Ok(())
    }
}

impl Manifest {
    /// Reads and checks a manifest.
    ///
    /// # Errors
    /// [`FaultKind::Protocol`](super::FaultKind::Protocol) when it is no manifest or breaks a
    /// rule of its fields. The ABI version is not judged here.
    pub fn read(bytes: &[u8]) -> Result<Self, Fault> {
        let manifest: Self = decode("manifest", bytes)?;
        manifest.check()?;
        Ok(manifest)
    }

    /// Ids and aliases of all channels.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.channels.iter().flat_map(ChannelManifest::names)
    }

    /// Whether a sign-in names only options that its channel declares.
    ///
    /// # Errors
    /// [`FaultKind::Config`](super::FaultKind::Config), naming the option.
    #[cfg(feature = "plugin")]
    pub(crate) fn check_options(&self, login: &LoginRequest) -> Result<(), Fault> {
        let channel = self.channels.iter().find(|channel| channel.id == login.channel);
        let known = channel.map_or(&[][..], |channel| &channel.login_options);
        match login.options.keys().find(|name| known.iter().all(|option| option.name != **name)) {
            None => Ok(()),
            Some(name) => Err(Fault::config(format!(
                "the sign-in of {} has no option '{name}'; leave it out",
                login.channel
            ))),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.scv_plugin != 1 {
            return Err(Fault::protocol("manifest: scv_plugin is not 1"));
        }
        if !is_name(&self.name) {
            return Err(Fault::protocol("manifest: the plugin's name has another form"));
        }
        if !(1..=MAX_THREADS_COUNT).contains(&self.threads) {
            return Err(Fault::protocol("manifest: threads is not 1 or 2"));
        }
        if self.channels.is_empty() {
            return Err(Fault::protocol("manifest: it names no channel"));
        }
        self.channels.iter().try_for_each(ChannelManifest::check)?;
        let mut seen = BTreeSet::new();
        if self.names().all(|name| seen.insert(name)) {
            return Ok(());
        }
        Err(Fault::protocol("manifest: two channels share a name"))
    }
}

impl ChannelManifest {
    /// The id, then the aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let aliases = self.aliases.iter().map(String::as_str);
        std::iter::once(self.id.as_str()).chain(aliases)
    }

    fn check(&self) -> Result<(), Fault> {
        if !self.names().all(is_name) {
            return Err(Fault::protocol("manifest: a channel's name has another form"));
        }
        if self.limits.max_message_bytes == 0 || self.limits.sends_per_reply == Some(0) {
            return Err(Fault::protocol("manifest: a channel's limits allow no message"));
        }
        if !(1..=MAX_WAIT_MS).contains(&self.limits.max_wait_ms) {
            return Err(Fault::protocol("manifest: max_wait_ms is not 1 to 60000"));
        }
        Ok(())
    }
}

/// `[a-z][a-z0-9_-]{0,31}`: plugin and channel names become folders and commands.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let tail = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    text.len() <= MAX_NAME_BYTES
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Secret;

    fn batch(change: impl FnOnce(&mut Batch)) -> Result<(), Fault> {
        let mut batch = Batch {
            token: "t".into(),
            checkpoint: "c".into(),
            messages: vec![Inbound { id: "1".into(), ..Inbound::default() }],
            ..Batch::default()
        };
        change(&mut batch);
        batch.check()
    }

    #[test]
    fn each_limit_of_a_batch_holds_at_its_edge() {
        batch(|_| ()).unwrap();
        batch(|b| b.token.clear()).unwrap_err();
        batch(|b| b.checkpoint = "c".repeat(MAX_CHECKPOINT_BYTES)).unwrap();
        batch(|b| b.checkpoint = "c".repeat(MAX_CHECKPOINT_BYTES + 1)).unwrap_err();
        batch(|b| b.messages = vec![b.messages[0].clone(); 256]).unwrap();
        batch(|b| b.messages = vec![b.messages[0].clone(); 257]).unwrap_err();
        batch(|b| b.messages[0].id.clear()).unwrap_err();
        batch(|b| b.messages[0].id = "x".repeat(257)).unwrap_err();
        batch(|b| b.messages[0].dedup_key = Some("x".repeat(129))).unwrap_err();
        batch(|b| b.messages[0].reply_token = Some(Secret::new("x".repeat(4097)))).unwrap_err();
    }

    #[test]
    fn names_can_never_be_paths_or_flags() {
        for good in ["a", "we-chat_2", &"a".repeat(32)] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "A", "-a", "1a", "a/b", "..", "a.b", "é", &"a".repeat(33)] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn a_manifest_needs_sound_channels() {
        let read = |channels: &str| {
            let json = format!(
                r#"{{"scv_plugin":1,"abi":"1.0","name":"x","version":"1","channels":{channels}}}"#
            );
            Manifest::read(json.as_bytes())
        };
        let limits = r#""limits":{"max_message_bytes":1,"max_wait_ms":1}"#;
        read(&format!(r#"[{{"id":"x","aliases":["y"],"title":"X",{limits}}}]"#)).unwrap();
        read("[]").unwrap_err();
        read(&format!(r#"[{{"id":"../x","title":"X",{limits}}}]"#)).unwrap_err();
        read(&format!(r#"[{{"id":"x","aliases":["x"],"title":"X",{limits}}}]"#)).unwrap_err();
        read(r#"[{"id":"x","title":"X","limits":{"max_message_bytes":0,"max_wait_ms":1}}]"#)
            .unwrap_err();
        read(r#"[{"id":"x","title":"X","limits":{"max_message_bytes":1,"max_wait_ms":60001}}]"#)
            .unwrap_err();
    }
}
