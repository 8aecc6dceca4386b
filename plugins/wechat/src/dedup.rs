//! The second key of a message: equal for two deliveries of it under different ids.

use scv_plugin_api::wire::Inbound;
use sha2::{Digest, Sha256};

/// Same sender and place, same non-zero server time, same content: the same message. Without a
/// time there is no key, because people do write the same words twice.
pub(crate) fn dedup_key(message: &Inbound) -> Option<String> {
    let time = message.sent_at_ms?;
    let parts = (
        &message.sender,
        &message.conversation.id,
        time,
        &message.text,
        &message.quote,
        &message.media,
    );
    // A JSON array, so that no two lists of parts read the same.
    let digest = Sha256::digest(serde_json::to_vec(&parts).ok()?);
    Some(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}
