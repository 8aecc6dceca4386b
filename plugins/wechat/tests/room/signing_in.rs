//! Signing in, against the simulated platform.

use std::{
    collections::BTreeMap,
    future::ready,
    sync::{Arc, Mutex},
};

use crate::account::{LIMIT, platform, plugin, saved};
use scv_plugin_api::{
    Channel, LoginUi, Result,
    wire::{
        FaultKind, InspectRequest, LoginEventBody, LoginRequest, LoginResult, PromptAnswer, Secret,
    },
};
use scv_simulators::{Ilink, cases::wechat_case, ilink::Endpoint};
use serde_json::{Value, json};

/// What a person is shown; every question is answered with the next of `answers`.
#[derive(Clone, Default)]
struct Person {
    shown: Arc<Mutex<Vec<LoginEventBody>>>,
    answers: Arc<Mutex<Vec<&'static str>>>,
}

impl Person {
    fn ui(&self) -> LoginUi {
        let person = self.clone();
        LoginUi::from_fn(move |event| ready(Ok(person.see(event))))
    }

    fn see(&self, event: LoginEventBody) -> PromptAnswer {
        let asked = matches!(event, LoginEventBody::Prompt { .. });
        self.shown.lock().expect("shown").push(event);
        if !asked {
            return PromptAnswer::default();
        }
        let answer = self.answers.lock().expect("answers").pop();
        let cancelled = answer.is_none();
        PromptAnswer { answer: answer.map(|text| Secret::new(text.to_owned())), cancelled }
    }

    fn count(&self, wanted: impl Fn(&LoginEventBody) -> bool) -> usize {
        self.shown.lock().expect("shown").iter().filter(|event| wanted(event)).count()
    }
}

async fn login(
    platform: &Ilink,
    person: &Person,
    saved: Option<Secret<Value>>,
) -> Result<LoginResult> {
    let request = LoginRequest {
        login_id: "l1".to_owned(),
        channel: "wechat".to_owned(),
        called_as: "wechat".to_owned(),
        account: "default".to_owned(),
        options: BTreeMap::from([("login-url".to_owned(), platform.base_url())]),
        saved,
    };
    plugin().login(request, person.ui()).await
}

fn credentials(result: LoginResult) -> Value {
    let LoginResult::SignedIn { credentials, .. } = result else { panic!("{result:?}") };
    credentials.into_inner()
}

#[tokio::test]
async fn the_whole_way() {
    let platform = platform();
    let person = Person::default();
    let phone = async {
        platform.wait_requests(Endpoint::GetQrcodeStatus, 1, LIMIT).await.expect("a status poll");
        platform.approve();
    };
    let (result, ()) = tokio::join!(login(&platform, &person, None), phone);
    let document = credentials(result.expect("signed in"));
    assert_eq!(document, *saved(&platform).expose());

    let is_qr = |event: &LoginEventBody| {
        matches!(event, LoginEventBody::Qr { expires_ms: Some(400_000..=480_000), .. })
    };
    assert_eq!(person.count(is_qr), 1);
    assert_eq!(person.count(|event| matches!(event, LoginEventBody::Link { .. })), 1);
    assert_eq!(platform.violations(), [""; 0]);

    let inspect = InspectRequest {
        channel: "wechat".to_owned(),
        account: "default".to_owned(),
        credentials: Secret::new(document),
    };
    let identity = plugin().inspect(inspect).expect("an identity");
    assert_eq!(identity.owner_id.as_deref(), Some(scv_simulators::ilink::OWNER));
}

#[tokio::test]
async fn qr_refresh() {
    let platform = platform();
    wechat_case("qr-refresh").expect("a case").script(&platform);
    let person = Person::default();
    let result = login(&platform, &person, None).await.expect("signed in");
    assert_eq!(credentials(result)["token"], "t");
    let shown = person.shown.lock().expect("shown").clone();
    let is_code = |pair: &[LoginEventBody]| matches!(pair, [LoginEventBody::Qr { text: Some(_), .. }, LoginEventBody::Link { text, .. }] if !text.is_empty());
    assert_eq!(shown.windows(2).filter(|pair| is_code(pair)).count(), 2, "{shown:?}");
    assert!(
        matches!(&shown[2], LoginEventBody::Qr { text: Some(text), .. } if text.contains("expired"))
    );
    let polled = platform.requests(Endpoint::GetQrcodeStatus);
    let handles: Vec<_> = polled.iter().filter_map(|poll| poll.query_value("qrcode")).collect();
    assert_eq!(handles[0], handles[1]);
    assert_ne!(handles[1], handles[2], "the new code is followed");
    assert_eq!(platform.violations(), [""; 0]);
}

#[tokio::test]
async fn the_digits_of_the_phone_are_sent() {
    let platform = platform();
    platform.push_qr(r#"{"status":"need_verifycode"}"#);
    platform.push_qr(r#"{"status":"need_verifycode"}"#);
    let person = Person::default();
    // Taken from the end: wrong digits, no digits at all, the right ones.
    *person.answers.lock().expect("answers") = vec!["44 55", "none", "11"];
    let approve = async {
        platform.wait_requests(Endpoint::GetQrcodeStatus, 3, LIMIT).await.expect("status polls");
        platform.approve();
    };
    let (result, ()) = tokio::join!(login(&platform, &person, None), approve);
    result.expect("signed in");
    let polled = platform.requests(Endpoint::GetQrcodeStatus);
    let digits: Vec<_> = polled.iter().map(|poll| poll.query_value("verify_code")).collect();
    assert_eq!(digits[..3], [None, Some("11"), Some("4455")]);
}

#[tokio::test]
async fn giving_up_at_a_question_ends_the_sign_in() {
    let platform = platform();
    platform.push_qr(r#"{"status":"need_verifycode"}"#);
    let fault = login(&platform, &Person::default(), None).await.expect_err("given up");
    assert_eq!(fault.kind, FaultKind::Cancelled);
}

#[tokio::test]
async fn qr_bound() {
    let platform = platform();
    let case = wechat_case("qr-bound").expect("a case");
    case.script(&platform);
    let fault = login(&platform, &Person::default(), None).await.expect_err("bound elsewhere");
    assert!(fault.message.contains("remove the ClawBot connection"), "{}", fault.message);

    case.script(&platform);
    let kept = login(&platform, &Person::default(), Some(saved(&platform))).await;
    assert!(matches!(kept, Ok(LoginResult::Unchanged { .. })), "{kept:?}");

    case.script(&platform);
    let unusable = Some(Secret::new(json!({"token": ""})));
    login(&platform, &Person::default(), unusable).await.expect_err("nothing usable is saved");
}

#[tokio::test]
async fn qr_confirmed_short() {
    let platform = platform();
    wechat_case("qr-confirmed-short").expect("a case").script(&platform);
    login(&platform, &Person::default(), None).await.expect_err("all three fields are needed");
}

#[tokio::test]
async fn qr_unknown_status_and_a_lost_answer() {
    let platform = platform();
    platform.fault_next(Endpoint::GetQrcodeStatus, scv_simulators::ilink::Fault::HangupBefore);
    wechat_case("qr-unknown-status").expect("a case").script(&platform);
    let result = login(&platform, &Person::default(), None).await.expect("signed in");
    assert_eq!(credentials(result)["base_url"], platform.base_url());
}

#[tokio::test]
async fn a_redirect_to_another_host_of_this_machine_is_followed() {
    let (platform, other) = (platform(), platform());
    let host = other.base_url().replace("http://", "");
    platform.push_qr(json!({"status": "scaned_but_redirect", "redirect_host": host}).to_string());
    other.push_qr(
        json!({"status": "confirmed", "bot_token": "t", "ilink_bot_id": "b", "ilink_user_id": "u"})
            .to_string(),
    );
    login(&platform, &Person::default(), None).await.expect("signed in");
    assert_eq!(platform.requests(Endpoint::GetQrcodeStatus).len(), 1);
}

#[tokio::test]
async fn foreign_addresses_and_options_are_refused_before_a_code_is_drawn() {
    let platform = platform();
    let person = Person::default();
    for (name, value) in [
        ("login-url", "https://evil.example"),
        ("login-url", "http://ilinkai.weixin.qq.com"),
        ("app-id", "x"),
    ] {
        let request = LoginRequest {
            login_id: "l1".to_owned(),
            channel: "wechat".to_owned(),
            called_as: "wechat".to_owned(),
            account: "default".to_owned(),
            options: BTreeMap::from([(name.to_owned(), value.to_owned())]),
            saved: Some(saved(&platform)),
        };
        let fault = plugin().login(request, person.ui()).await.expect_err(value);
        assert_eq!(fault.kind, FaultKind::Config);
    }
    assert!(person.shown.lock().expect("shown").is_empty());
}

#[tokio::test]
async fn the_old_single_file_is_imported() {
    let text = "token = \"tok-fake-1\"\nbot_id = \"b1@im.bot\"\nuser_id = \"owner@im.wechat\"\n";
    let document = plugin().call("credentials.import", json!({"text": text})).await;
    assert_eq!(
        document.expect("credentials"),
        json!({
            "token": "tok-fake-1",
            "base_url": "https://ilinkai.weixin.qq.com",
            "bot_id": "b1@im.bot",
            "user_id": "owner@im.wechat",
        })
    );
    let unknown = plugin().call("nothing", json!({})).await.expect_err("unknown");
    assert_eq!(unknown.kind, FaultKind::Unsupported);
    let wrong = plugin().call("credentials.import", json!({})).await.expect_err("no text");
    assert_eq!(wrong.kind, FaultKind::Protocol);
}
