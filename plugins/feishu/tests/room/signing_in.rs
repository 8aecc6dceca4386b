//! Signing in, against the simulated platform.

use std::{
    collections::BTreeMap,
    future::ready,
    sync::{Arc, Mutex},
};

use scv_plugin_api::{
    Channel, LoginUi, Result,
    wire::{Fault, LoginEventBody, LoginRequest, LoginResult, PromptAnswer, Secret},
};
use scv_simulators::{
    Feishu,
    feishu::{APP, Brand, OWNER, RegistrationKnobs, SECRET},
};
use serde_json::{Value, json};

use crate::account::{platform, plugin, saved};

/// What a person is shown; confirms a code as soon as it is there, unless told otherwise.
#[derive(Clone)]
struct Person {
    platform: Arc<Feishu>,
    shown: Arc<Mutex<Vec<LoginEventBody>>>,
    confirms: Option<Brand>,
    secret: &'static str,
}

impl Person {
    fn new(platform: Feishu) -> Self {
        let shown = Arc::default();
        let confirms = Some(Brand::Feishu);
        Self { platform: Arc::new(platform), shown, confirms, secret: SECRET }
    }

    async fn login(&self, called_as: &str, options: &[(&str, &str)]) -> Result<LoginResult> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let request = LoginRequest {
            login_id: "l1".to_owned(),
            channel: "feishu".to_owned(),
            called_as: called_as.to_owned(),
            account: "default".to_owned(),
            options: options.iter().map(owned).collect::<BTreeMap<_, _>>(),
            saved: None,
        };
        let person = self.clone();
        let ui = LoginUi::from_fn(move |event| ready(Ok(person.see(event))));
        plugin(&self.platform).login(request, ui).await
    }

    fn see(&self, event: LoginEventBody) -> PromptAnswer {
        if matches!(event, LoginEventBody::Qr { .. })
            && let Some(brand) = self.confirms
        {
            self.platform.approve_as(brand);
        }
        let asked = matches!(event, LoginEventBody::Prompt { .. });
        self.shown.lock().expect("shown").push(event);
        let answer = asked.then(|| Secret::new(self.secret.to_owned()));
        PromptAnswer { answer, cancelled: false }
    }

    fn links(&self) -> Vec<String> {
        let shown = self.shown.lock().expect("shown");
        let link = |event: &LoginEventBody| match event {
            LoginEventBody::Link { url, .. } => Some(url.expose().clone()),
            _ => None,
        };
        shown.iter().filter_map(link).collect()
    }
}

fn credentials(result: Result<LoginResult>) -> Value {
    match result.expect("signed in") {
        LoginResult::SignedIn { credentials, .. } => credentials.into_inner(),
        other => panic!("{other:?}"),
    }
}

fn fault(result: Result<LoginResult>) -> Fault {
    result.expect_err("refused")
}

#[tokio::test]
async fn a_scan_makes_an_app_and_its_creator_the_owner() {
    let person = Person::new(platform());
    let document = credentials(person.login("feishu", &[]).await);
    assert_eq!(document, saved(&person.platform));
    assert_eq!(document["owner_open_id"], OWNER);
    let links = person.links();
    assert!(links[0].starts_with("https://open.feishu.cn/page/cli?user_code="), "{links:?}");
    assert!(links[0].ends_with("&name=scv"), "{links:?}");
    assert_eq!(links[1], format!("https://open.feishu.cn/app/{APP}"));
    assert_eq!(person.platform.violations(), [""; 0]);
}

#[tokio::test]
async fn a_lark_tenant_begins_on_feishu_and_ends_on_lark() {
    let mut person = Person::new(platform());
    person.confirms = Some(Brand::Lark);
    let document = credentials(person.login("lark", &[]).await);
    assert_eq!(document["brand"], "lark");
    assert!(person.links()[0].starts_with("https://open.larksuite.com/page/cli?"));
    let hosts: Vec<String> =
        person.platform.requests("/app/registration").into_iter().map(|(host, _)| host).collect();
    assert_eq!(hosts.first().map(String::as_str), Some("accounts.feishu.cn"));
    assert_eq!(hosts.last().map(String::as_str), Some("accounts.larksuite.com"));
    assert_eq!(person.platform.violations(), [""; 0]);
}

#[tokio::test]
async fn failed_polls_are_not_the_end() {
    let person = Person::new(platform());
    let errors = ["authorization_pending".to_owned()].into();
    person.platform.registration(RegistrationKnobs {
        errors,
        flaky: 2,
        ..RegistrationKnobs::default()
    });
    credentials(person.login("feishu", &[]).await);
}

#[tokio::test]
async fn a_sign_in_ends_when_it_is_declined_or_too_late() {
    let mut person = Person::new(platform());
    person.confirms = None;
    person.platform.deny();
    assert!(fault(person.login("feishu", &[]).await).message.contains("declined"));
    let knobs = RegistrationKnobs { expires_in: 1, ..RegistrationKnobs::default() };
    person.platform.registration(knobs);
    assert!(fault(person.login("feishu", &[]).await).message.contains("in time"));
}

#[tokio::test]
async fn an_existing_app_is_tried_before_it_is_saved() {
    let mut person = Person::new(platform());
    let options = [("app-id", APP), ("owner-open-id", "ou_me")];
    let document = credentials(person.login("feishu", &options).await);
    let want =
        json!({"app_id": APP, "app_secret": SECRET, "brand": "feishu", "owner_open_id": "ou_me"});
    assert_eq!(document, want);
    let nobody = credentials(person.login("feishu", &options[..1]).await);
    assert_eq!(nobody["owner_open_id"], Value::Null);
    person.secret = "wrong-hunter22";
    let fault = fault(person.login("feishu", &options).await);
    assert!(fault.message.contains("refuses") && !fault.message.contains("hunter22"));
    assert!(person.platform.requests("/app/registration").is_empty());
}

#[tokio::test]
async fn options_that_do_not_belong_are_named() {
    let person = Person::new(platform());
    for (options, word) in [
        (vec![("login-url", "https://x.example")], "login-url"),
        (vec![("owner-open-id", "ou_me")], "--app-id"),
        (vec![("app-id", "no id")], "--app-id"),
    ] {
        let fault = fault(person.login("feishu", &options).await);
        assert!(fault.message.contains(word), "{}", fault.message);
    }
    assert!(person.shown.lock().expect("shown").is_empty());
}
