//! Reads what was written while nobody was connected: the history of the chats that are known.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use scv_http::Request;
use scv_plugin_api::wire::Fault;
use tokio::{sync::mpsc, time::sleep};

use crate::{
    checkpoint::Missed,
    limits::{
        CATCHUP_PAGE_COUNT, CATCHUP_PAGES_COUNT, CATCHUP_RETRY_MAX_MS, CATCHUP_RETRY_MS,
        CHATS_COUNT, PAGE_BODY_BYTES,
    },
    message::{Incoming, read_items},
    rest::{Answer, Api, Class},
};

/// A page of one chat.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) chat: String,
    pub(crate) messages: Vec<Incoming>,
    pub(crate) newest_ms: Option<u64>,
    /// Nothing is left in this chat.
    pub(crate) is_last: bool,
}

/// Chats whose history the platform does not give, told about once for each.
#[derive(Clone, Default)]
pub(crate) struct Refusals(Arc<Mutex<HashSet<String>>>);

impl Refusals {
    /// Without the permission to read groups, which a fresh app does not have, this is usual.
    fn tell(&self, code: &str, chat: &str) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < 2 * CHATS_COUNT && told.insert(chat.to_owned()) {
            tracing::warn!(
                code,
                "the platform does not give the history of a chat; what is written there while \
                 scv is away goes unanswered"
            );
        }
    }
}

/// Reads chat by chat and gives the pages out in order; ends when nothing is left or nobody takes
/// them.
pub(crate) async fn run(
    api: &Api,
    plan: Vec<Missed>,
    refusals: &Refusals,
    pages: &mpsc::Sender<Page>,
) {
    for missed in plan {
        if read_chat(api, &missed, refusals, pages).await.is_none() {
            return;
        }
    }
}

/// None when nobody takes the pages.
async fn read_chat(
    api: &Api,
    missed: &Missed,
    refusals: &Refusals,
    pages: &mpsc::Sender<Page>,
) -> Option<()> {
    let mut token = String::new();
    for number in 1..=CATCHUP_PAGES_COUNT {
        let answer = ask(api, missed, &token).await;
        if answer.class() != Class::Good {
            refusals.tell(&answer.name(), &missed.chat);
            return give(pages, Page::empty(missed)).await;
        }
        let next = next_token(&answer, &token);
        let (messages, newest_ms) = read_items(&answer.data()["items"], &missed.chat);
        let is_last = next.is_none();
        give(pages, Page { chat: missed.chat.clone(), messages, newest_ms, is_last }).await?;
        let Some(next) = next else { return Some(()) };
        token = next;
        if number == CATCHUP_PAGES_COUNT {
            tracing::info!("a chat has more missed messages; the next connection goes on there");
        }
    }
    Some(())
}

async fn give(pages: &mpsc::Sender<Page>, page: Page) -> Option<()> {
    pages.send(page).await.ok()
}

impl Page {
    fn empty(missed: &Missed) -> Self {
        let chat = missed.chat.clone();
        Self { chat, messages: Vec::new(), newest_ms: None, is_last: true }
    }
}

/// Where the next page is. A platform that says "more" and names the same place again would be
/// asked for ever.
fn next_token(answer: &Answer, asked: &str) -> Option<String> {
    let data = answer.data();
    let next = data["page_token"].as_str().unwrap_or_default();
    if data["has_more"] != true {
        return None;
    }
    if next.is_empty() || next == asked {
        tracing::warn!("the platform says that a history goes on, and not where; it is left there");
        return None;
    }
    Some(next.to_owned())
}

/// Asks until there is an answer that says yes or no.
async fn ask(api: &Api, missed: &Missed, token: &str) -> Answer {
    let mut wait_ms = CATCHUP_RETRY_MS;
    loop {
        let asked_ms = match api.call(request(api, missed, token), PAGE_BODY_BYTES).await {
            Ok(answer) if is_settled(answer.class()) => return answer,
            Ok(answer) => answer.reset_ms(),
            Err(fault) => later(&fault),
        };
        sleep(Duration::from_millis(asked_ms.unwrap_or_default().max(wait_ms))).await;
        wait_ms = (wait_ms * 2).min(CATCHUP_RETRY_MAX_MS);
    }
}

const fn is_settled(class: Class) -> bool {
    !matches!(class, Class::Again | Class::Slower | Class::Token)
}

fn later(fault: &Fault) -> Option<u64> {
    tracing::warn!(%fault, "the history of a chat could not be read; it is tried again");
    fault.after_ms
}

/// From the second of the last message on: what came in the same second is known by its id.
fn request(api: &Api, missed: &Missed, token: &str) -> Request {
    let from_seconds = (missed.from_ms / 1_000).to_string();
    let size = CATCHUP_PAGE_COUNT.to_string();
    let query = [
        ("container_id_type", "chat"),
        ("container_id", &missed.chat),
        ("start_time", &from_seconds),
        ("sort_type", "ByCreateTimeAsc"),
        ("page_size", &size),
    ];
    let request = Request::get(api.url("/open-apis/im/v1/messages")).query(&query);
    if token.is_empty() { request } else { request.query(&[("page_token", token)]) }
}
