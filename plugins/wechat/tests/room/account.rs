//! A signed-in account on a simulated platform.

use std::time::Duration;

use scv_channel_wechat::{WeChat, WeChatSession};
use scv_plugin_api::{
    Channel, Stop,
    wire::{ConnectRequest, CreateConfig, Outgoing, Recipient, ReplyTo, Secret},
};
use scv_simulators::{Ilink, ilink::OWNER};

/// How long a test waits for what must happen.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

/// The plugin as the host makes it.
pub(crate) fn plugin() -> WeChat {
    WeChat::create(CreateConfig::default()).expect("the plugin")
}

/// A platform whose polls end soon.
pub(crate) fn platform() -> Ilink {
    let platform = Ilink::start().expect("a platform");
    platform.hold(Duration::from_millis(50));
    platform
}

/// The saved credentials of the platform's bot.
pub(crate) fn saved(platform: &Ilink) -> Secret<serde_json::Value> {
    let json = platform.credentials().to_json();
    Secret::new(serde_json::from_str(&json).expect("JSON"))
}

/// A session, and the signal that closes it.
pub(crate) async fn connect(platform: &Ilink, checkpoint: Option<&str>) -> (WeChatSession, Stop) {
    let stop = Stop::new();
    let request = ConnectRequest {
        session_id: "s1".to_owned(),
        channel: "wechat".to_owned(),
        account: "default".to_owned(),
        credentials: saved(platform),
        checkpoint: checkpoint.map(str::to_owned),
    };
    let session = plugin().connect(request, stop.clone()).await.expect("a session");
    (session, stop)
}

/// A reply to the owner.
pub(crate) fn reply(client_id: &str, token: &str, text: &str) -> Outgoing {
    Outgoing {
        client_id: client_id.to_owned(),
        text: text.to_owned(),
        reply: Some(ReplyTo {
            message_id: "1".to_owned(),
            reply_token: Some(Secret::new(token.to_owned())),
        }),
        recipient: Recipient { user: OWNER.to_owned(), group: None },
    }
}
