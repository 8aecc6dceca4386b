//! The earliest single credentials file of an older release becomes an account.

use scv_bridge::{Accounts, ChannelId, accounts::retry_busy};
use scv_plugin_api::wire::Secret;
use scv_plugin_host::LoadedChannel;
use serde_json::{Value, json};

/// Lets the channel's plugin read the file's text, and saves what it made of it.
///
/// # Errors
/// One safe sentence.
pub async fn import_single_file(
    accounts: &Accounts,
    channel: &LoadedChannel,
    id: &ChannelId,
    text: Secret<String>,
) -> Result<(), String> {
    let Some(legacy) = &channel.manifest.legacy else {
        return Ok(());
    };
    let request = json!({ "text": text.expose() });
    let reply = channel.transport.call("credentials.import", request).await;
    let credentials: Secret<Value> = reply.map_err(|fault| fault.to_string())?.into();
    retry_busy(|| accounts.import_single_file(legacy, id, &credentials))
        .await
        .map_err(|error| error.to_string())
}
