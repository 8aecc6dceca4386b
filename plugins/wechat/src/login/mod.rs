//! Signing in: draws a code, follows its status, asks for digits, until the phone confirms.

mod code;
mod machine;
mod status;

use std::time::Duration;

use scv_http::{HttpClient, Origin};
use scv_plugin_api::{
    LoginUi, Result,
    wire::{Fault, LoginResult, Secret},
};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout_at};

use self::{
    code::Code,
    machine::{SignIn, Step},
    status::{Status, read_status},
};
use crate::{
    credentials::Credentials,
    exchange,
    limits::{BETWEEN_STATUS_POLLS_MS, DIGITS_COUNT, LOGIN_MS},
    request,
};

const FIRST_CODE: &str = "Scan this code with WeChat on your phone:";

/// Signs in at `login`; `saved` are the credentials that the host has already.
pub(crate) async fn sign_in(
    http: &HttpClient,
    login: Origin,
    saved: Option<Secret<Value>>,
    ui: &LoginUi,
) -> Result<LoginResult> {
    let end = Instant::now() + Duration::from_millis(LOGIN_MS);
    match timeout_at(end, follow(http, login, saved, ui, end)).await {
        Ok(result) => result,
        Err(_) => Err(Fault::other(
            "nobody confirmed the sign-in within eight minutes; start it again when you are ready",
        )),
    }
}

async fn follow(
    http: &HttpClient,
    login: Origin,
    saved: Option<Secret<Value>>,
    ui: &LoginUi,
    end: Instant,
) -> Result<LoginResult> {
    let mut code = draw(http, &login, ui, end, FIRST_CODE).await?;
    let mut sign_in = SignIn::new(login.clone());
    loop {
        let status = ask_status(http, &sign_in, &code).await;
        match sign_in.step(status) {
            Step::Wait => {}
            Step::Say(text) => ui.progress(text).await?,
            Step::Ask(question) => sign_in.answer(ask_digits(ui, question).await?),
            Step::Draw(line) => code = draw(http, &login, ui, end, line).await?,
            Step::AlreadyBound => return already_bound(saved),
            Step::SignedIn(credentials) => return signed_in(&credentials),
            Step::Fail(fault) => return Err(fault),
        }
        sleep(Duration::from_millis(BETWEEN_STATUS_POLLS_MS)).await;
    }
}

/// The host waits for the longest time that a code names: for the whole sign-in, not for this
/// code, because a new one follows it.
async fn draw(
    http: &HttpClient,
    login: &Origin,
    ui: &LoginUi,
    end: Instant,
    line: &str,
) -> Result<Code> {
    let answer = exchange::draw(http, request::draw_code(login)).await;
    let response = answer.map_err(|error| exchange::failed(&error))?;
    let code = Code::read(login, response.status, &response.body)?;
    let left_ms = end.saturating_duration_since(Instant::now()).as_millis();
    ui.qr(code.link(), u64::try_from(left_ms).ok(), Some(line.to_owned())).await?;
    ui.link(code.link(), "Or open this link in WeChat:").await?;
    Ok(code)
}

/// No answer is no news: the next poll will tell.
async fn ask_status(http: &HttpClient, sign_in: &SignIn, code: &Code) -> Status {
    let request = request::code_status(sign_in.origin(), code.handle(), sign_in.digits());
    match exchange::ask_status(http, request).await {
        Ok(response) => read_status(response.status, &response.body),
        Err(error) => {
            tracing::debug!(%error, "a status poll was not answered");
            Status::Waiting
        }
    }
}

async fn ask_digits(ui: &LoginUi, question: &str) -> Result<String> {
    loop {
        let answer = ui.prompt("verify-code", question).await?;
        let digits: String = answer.chars().filter(char::is_ascii_digit).collect();
        if (1..=DIGITS_COUNT).contains(&digits.len()) {
            return Ok(digits);
        }
        ui.notice("That is not a number; type the digits as the phone shows them.").await?;
    }
}

fn signed_in(credentials: &Credentials) -> Result<LoginResult> {
    Ok(LoginResult::SignedIn {
        credentials: Secret::new(credentials.document()?),
        summary: "WeChat is connected. It binds a person to one bot: an older sign-in elsewhere \
                  stops working."
            .to_owned(),
    })
}

fn already_bound(saved: Option<Secret<Value>>) -> Result<LoginResult> {
    let usable = saved.is_some_and(|saved| Credentials::read(saved.expose()).is_some());
    if usable {
        let summary = "This WeChat is connected already; the saved credentials stay.".to_owned();
        return Ok(LoginResult::Unchanged { summary });
    }
    Err(Fault::config(
        "this WeChat is bound to a bot whose credentials are not here; remove the ClawBot \
         connection in WeChat on the phone, then sign in again",
    ))
}
