//! The answer to a status poll.

use scv_plugin_api::wire::Secret;

use crate::{
    fields::Fields,
    limits::{LINK_BYTES, NAME_BYTES},
};

/// How far a sign-in is.
#[derive(Debug)]
pub(crate) enum Status {
    /// Nothing happened yet; also when nothing can be learnt from the answer.
    Waiting,
    /// Scanned, not confirmed.
    Scanned,
    /// Another host goes on with this sign-in.
    Redirect(Option<String>),
    /// The phone shows digits that must be typed here.
    NeedsDigits,
    /// Too many wrong digits.
    DigitsBlocked,
    /// The code is too old.
    Expired,
    /// The person is bound to a bot, and nothing new is given out.
    AlreadyBound,
    /// Done, when all of it is there.
    Confirmed(Option<Confirmed>),
}

/// What a confirmed sign-in gives.
#[derive(Debug)]
pub(crate) struct Confirmed {
    pub(crate) token: Secret,
    pub(crate) bot_id: String,
    pub(crate) user_id: String,
    pub(crate) base_url: Option<String>,
}

/// Reads an answer. A gateway's error, another shape or an unknown status is no news: the limit
/// of the sign-in goes on running.
pub(crate) fn read_status(http_status: u16, body: &[u8]) -> Status {
    if http_status != 200 {
        return Status::Waiting;
    }
    let text = String::from_utf8_lossy(body);
    let Some(answer) = Fields::parse(&text) else { return Status::Waiting };
    // The platform's own spelling.
    match answer.text("status").unwrap_or_default().as_str() {
        "scaned" => Status::Scanned,
        "scaned_but_redirect" => Status::Redirect(answer.filled("redirect_host", NAME_BYTES)),
        "need_verifycode" => Status::NeedsDigits,
        "verify_code_blocked" => Status::DigitsBlocked,
        "expired" => Status::Expired,
        "binded_redirect" => Status::AlreadyBound,
        "confirmed" => Status::Confirmed(confirmed(&answer)),
        _ => Status::Waiting,
    }
}

fn confirmed(answer: &Fields<'_>) -> Option<Confirmed> {
    Some(Confirmed {
        token: Secret::new(answer.filled("bot_token", LINK_BYTES)?),
        bot_id: answer.filled("ilink_bot_id", NAME_BYTES)?,
        user_id: answer.filled("ilink_user_id", NAME_BYTES)?,
        base_url: answer.filled("baseurl", LINK_BYTES),
    })
}
