//! The sign-in by scan: registers an app in the name of the person who confirms it.

use std::time::Duration;

use scv_http::{HttpClient, Request};
use scv_plugin_api::{
    LoginUi, Result,
    wire::{Fault, LoginResult, Secret},
};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::{
    machine::{SignIn, Step},
    poll::{Poll, read_poll},
    signed_in,
};
use crate::{
    brand::Brand,
    credentials::is_plain,
    limits::{
        BODY_BYTES, LOGIN_DEFAULT_SECONDS, LOGIN_MAX_SECONDS, LOGIN_POLL_SECONDS,
        LOGIN_SLOWEST_SECONDS,
    },
    rest::{Answer, exchange},
};

/// Codes of the other host look right and are refused by the page (seen live, 2026): every
/// sign-in begins here, and only the page differs.
const BEGIN_AT: Brand = Brand::Feishu;
/// The name that the page proposes for the new app.
const APP_NAME: &str = "scv";
const SECRET: &str = "client_secret";

/// A code to scan; who has it can take over the sign-in.
struct Code {
    device_code: Secret,
    user_code: Secret,
    good_for: Duration,
    interval_seconds: u64,
}

/// Signs in; `wanted` is the edition whose page the person opens.
pub(crate) async fn sign_in(http: &HttpClient, wanted: Brand, ui: &LoginUi) -> Result<LoginResult> {
    let code = begin(http).await?;
    let end = Instant::now() + code.good_for;
    show(&code, wanted, ui).await?;
    let mut sign_in = SignIn::new(BEGIN_AT, code.interval_seconds);
    loop {
        sleep_until(end.min(Instant::now() + sign_in.interval())).await;
        if Instant::now() >= end {
            return Err(Fault::other("nobody confirmed the sign-in in time; start it again"));
        }
        match sign_in.step(poll(http, sign_in.host(), &code).await) {
            Step::Wait => {}
            Step::SignedIn(credentials) => return signed_in(&credentials, ui).await,
            Step::Fail(fault) => return Err(fault),
        }
    }
}

async fn begin(http: &HttpClient) -> Result<Code> {
    let methods = register(http, BEGIN_AT, &[("action", "init")]).await?;
    let listed = methods.body()["supported_auth_methods"].as_array();
    if !listed.is_some_and(|methods| methods.iter().any(|method| method == SECRET)) {
        let text = "Feishu offers no sign-in that scv knows; try again, or use --app-id";
        return Err(methods.fault(Fault::other(text)));
    }
    let form = [
        ("action", "begin"),
        ("archetype", "PersonalAgent"),
        ("auth_method", SECRET),
        ("request_user_info", "open_id tenant_brand"),
    ];
    let answer = register(http, BEGIN_AT, &form).await?;
    read_code(answer.body()).ok_or_else(|| {
        answer.fault(Fault::other("Feishu gave no code to scan; try again, or use --app-id"))
    })
}

fn read_code(answer: &Value) -> Option<Code> {
    let device_code = answer["device_code"].as_str().filter(|code| !code.is_empty())?;
    // It becomes part of a link that is shown in a terminal.
    let user_code = answer["user_code"].as_str().filter(|code| {
        is_plain(code) && code.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })?;
    let seconds = answer["expires_in"].as_u64().unwrap_or(LOGIN_DEFAULT_SECONDS);
    let interval = answer["interval"].as_u64().unwrap_or(LOGIN_POLL_SECONDS);
    Some(Code {
        device_code: Secret::new(device_code.to_owned()),
        user_code: Secret::new(user_code.to_owned()),
        good_for: Duration::from_secs(seconds.min(LOGIN_MAX_SECONDS)),
        interval_seconds: interval.clamp(1, LOGIN_SLOWEST_SECONDS),
    })
}

/// The page that the server itself names refused fresh codes in September 2026; this one works.
fn link(code: &Code, brand: Brand) -> String {
    let user_code = code.user_code.expose();
    format!("{}/page/cli?user_code={user_code}&name={APP_NAME}", brand.open())
}

async fn show(code: &Code, wanted: Brand, ui: &LoginUi) -> Result<()> {
    let title = wanted.title();
    let good_ms = u64::try_from(code.good_for.as_millis()).ok();
    ui.qr(link(code, wanted), good_ms, Some(format!("Scan this code with {title}:"))).await?;
    ui.link(link(code, wanted), "Or open this link in a browser:").await
}

/// No answer is no news: the next poll will tell.
async fn poll(http: &HttpClient, host: Brand, code: &Code) -> Poll {
    let form = [("action", "poll"), ("device_code", code.device_code.expose().as_str())];
    match register(http, host, &form).await {
        Ok(answer) => read_poll(answer.status(), answer.body()),
        Err(fault) => {
            tracing::debug!(%fault, "a poll of the sign-in was not answered");
            Poll::NoNews
        }
    }
}

async fn register(http: &HttpClient, host: Brand, form: &[(&str, &str)]) -> Result<Answer> {
    let url = format!("{}/oauth/v1/app/registration", host.accounts());
    exchange(http, host, Request::post(url).form(form), BODY_BYTES).await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_link_is_the_page_that_works_on_the_wanted_edition() {
        let answer = json!({
            "device_code": "v1:x", "user_code": "AB12-CD34", "expires_in": 3600, "interval": 5,
            "verification_uri_complete": "https://open.feishu.cn/page/launcher?user_code=AB12-CD34",
        });
        let code = read_code(&answer).expect("a code");
        assert_eq!(
            link(&code, Brand::Feishu),
            "https://open.feishu.cn/page/cli?user_code=AB12-CD34&name=scv"
        );
        assert!(link(&code, Brand::Lark).starts_with("https://open.larksuite.com/page/cli?"));
        assert_eq!(code.good_for, Duration::from_secs(3600));
    }

    #[test]
    fn only_expires_in_counts_and_nothing_is_unbounded() {
        let code = |more: Value| {
            let mut answer = json!({"device_code": "d", "user_code": "u"});
            answer.as_object_mut().expect("object").extend(more.as_object().expect("o").clone());
            read_code(&answer).expect("a code")
        };
        assert_eq!(code(json!({"expire_in": 5})).good_for.as_secs(), LOGIN_DEFAULT_SECONDS);
        assert_eq!(code(json!({"expires_in": 4})).good_for.as_secs(), 4);
        let huge = code(json!({"expires_in": u64::MAX, "interval": u64::MAX}));
        assert_eq!(huge.good_for.as_secs(), LOGIN_MAX_SECONDS);
        assert_eq!(huge.interval_seconds, LOGIN_SLOWEST_SECONDS);
        assert_eq!(code(json!({"interval": 0})).interval_seconds, 1);
    }

    #[test]
    fn a_code_that_would_change_the_link_is_none() {
        for user_code in ["", "a&b=c", "a b", "\u{1b}[2J", "ü"] {
            let answer = json!({"device_code": "d", "user_code": user_code});
            assert!(read_code(&answer).is_none(), "{user_code}");
        }
    }
}
