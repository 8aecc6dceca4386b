//! Who this bot is: its own `open_id`, which tells whether a group message mentions it.

use std::{sync::Arc, time::Duration};

use scv_http::Request;
use scv_plugin_api::{Result, wire::Fault};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

use crate::{
    credentials::is_plain,
    limits::{BODY_BYTES, BOT_MS, BOT_RETRY_MS},
    rest::{Api, Class},
};

/// What the platform says about the bot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Info {
    pub(crate) open_id: Option<String>,
    /// Why it cannot answer anybody at present.
    pub(crate) off: Option<&'static str>,
}

/// The bot of one session; asked for until it is known.
pub(crate) struct Bot {
    api: Arc<Api>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    id: Option<String>,
    asked: Option<Instant>,
}

impl Bot {
    pub(crate) fn new(api: Arc<Api>) -> Self {
        Self { api, state: Mutex::default() }
    }

    /// The bot's `open_id`, as far as it is known.
    pub(crate) async fn known_id(&self) -> Option<String> {
        self.state.lock().await.id.clone()
    }

    /// The bot's `open_id`; none while the platform does not tell it. Then group messages cannot
    /// be answered, and it is asked again, but not for every message.
    pub(crate) async fn id(&self) -> Option<String> {
        let mut state = self.state.lock().await;
        let pause = Duration::from_millis(BOT_RETRY_MS);
        if state.id.is_some() || state.asked.is_some_and(|asked| asked.elapsed() < pause) {
            return state.id.clone();
        }
        state.asked = Some(Instant::now());
        let answer = timeout(Duration::from_millis(BOT_MS), ask(&self.api)).await;
        match answer.unwrap_or_else(|_| Err(Fault::retry("the platform did not answer in time"))) {
            Ok(info) => {
                let info = info.unwrap_or_default();
                if let Some(why) = info.off {
                    tracing::warn!("{why}");
                }
                state.id = info.open_id;
            }
            Err(fault) => tracing::warn!(%fault, "the bot's own id is not known"),
        }
        if state.id.is_none() {
            tracing::warn!("messages in groups go unanswered until the bot's own id is known");
        }
        state.id.clone()
    }
}

/// Asks the platform; none when the app has no bot.
///
/// # Errors
/// When there was no answer, or a refusal.
pub(crate) async fn ask(api: &Api) -> Result<Option<Info>> {
    let answer = api.call(Request::get(api.url("/open-apis/bot/v3/info")), BODY_BYTES).await?;
    if answer.class() != Class::Good {
        return Err(answer.fault(Fault::retry("the platform does not tell who the bot is")));
    }
    // Under `bot`, where other calls answer with `data`.
    let bot = &answer.body()["bot"];
    let open_id = bot["open_id"].as_str().filter(|id| is_plain(id)).map(str::to_owned);
    let off = bot["activate_status"].as_i64().and_then(why_off);
    Ok(bot.is_object().then_some(Info { open_id, off }))
}

/// The platform's `activate_status`; 2 is on.
const fn why_off(status: i64) -> Option<&'static str> {
    Some(match status {
        0 => "The bot is not installed yet; publish the app in the developer console",
        1 => "The bot was stopped by the company's administrator",
        3 => "The bot is installed but switched off; switch it on in the admin console",
        4 => "The app waits for an upgrade to be approved",
        5 => "The app's licence has expired",
        6 => "The Lark plan has expired",
        _ => return None,
    })
}
