//! Sending through a real session, against the simulated platform.

use scv_plugin_api::{
    Session,
    wire::{Outgoing, Recipient, Scope, SendOutcome},
};
use scv_simulators::{
    Feishu,
    feishu::{GROUP, OWNER, P2P},
};
use serde_json::{Value, json};

use crate::account::{Host, platform, reply, script};

/// A connected host, and a message to answer.
async fn asked(platform: &Feishu) -> (Host, String) {
    let mut host = Host::connect(platform, "").await;
    let id = platform.push_message(OWNER, "a question");
    host.messages(1).await;
    (host, id)
}

fn answer_with(platform: &Feishu, answer: &Value) {
    let mut rule = json!({"method": "POST", "path": "/reply$"});
    rule.as_object_mut().expect("o").extend(answer.as_object().expect("o").clone());
    script(platform, rule);
}

#[tokio::test]
async fn a_reply_and_unprompted_messages() {
    let platform = platform();
    let (host, id) = asked(&platform).await;
    let accepted = host.session.send(reply("id-1", &id, "a_b < c\n好")).await.expect("an outcome");
    assert!(matches!(accepted, SendOutcome::Accepted { receipt: Some(_) }), "{accepted:?}");
    let direct = Outgoing { reply: None, ..reply("id-2", "", "more") };
    host.session.send(direct).await.expect("an outcome");
    let recipient = Recipient { user: OWNER.to_owned(), group: Some(GROUP.to_owned()) };
    let group = Outgoing { reply: None, recipient, ..reply("id-3", "", "all") };
    host.session.send(group).await.expect("an outcome");
    assert_eq!(platform.visible(P2P), ["a_b < c\n好", "more"]);
    assert_eq!(platform.visible(GROUP), ["all"]);
    assert_eq!(platform.sent()[0].reply_to.as_deref(), Some(id.as_str()));
    assert_eq!(platform.violations(), [""; 0]);
}

#[tokio::test]
async fn trouble_on_the_way_is_tried_again_under_one_uuid() {
    let platform = platform();
    let (host, id) = asked(&platform).await;
    for answer in [
        json!({"http": 502, "body": "<html>Bad Gateway</html>"}),
        json!({"http": 400, "code": 230049}),
        json!({"http": 400, "code": 230020}),
    ] {
        answer_with(&platform, &answer);
        let outcome = host.session.send(reply("id-1", &id, "hi")).await.expect("an outcome");
        let SendOutcome::Retry { reason, .. } = &outcome else { panic!("{answer}: {outcome:?}") };
        assert!(!reason.contains("html") && !reason.contains("om_"), "{reason}");
    }
    let outcome = host.session.send(reply("id-1", &id, "hi")).await.expect("an outcome");
    assert!(matches!(outcome, SendOutcome::Accepted { .. }), "{outcome:?}");
    assert_eq!(platform.visible(P2P), ["hi"]);
    assert_eq!(platform.violations(), [""; 0]);
}

/// The HTTP client asks once more by itself when a kept connection turns out to be dead, so the
/// outcome may be either; the message is shown once in any case.
#[tokio::test]
async fn a_lost_answer_is_no_second_message() {
    let platform = platform();
    let (host, id) = asked(&platform).await;
    for drop in ["before", "after", "after"] {
        answer_with(&platform, &json!({ "drop": drop }));
        host.session.send(reply("id-1", &id, "hi")).await.expect("an outcome");
    }
    let outcome = host.session.send(reply("id-1", &id, "hi")).await.expect("an outcome");
    assert!(matches!(outcome, SendOutcome::Accepted { .. }), "{outcome:?}");
    assert_eq!(platform.visible(P2P), ["hi"]);
    assert_eq!(platform.violations(), [""; 0]);
}

#[tokio::test]
async fn a_rate_limit_waits_as_long_as_the_platform_says() {
    let platform = platform();
    let (host, id) = asked(&platform).await;
    let headers = json!({"x-ogw-ratelimit-limit": "5", "x-ogw-ratelimit-reset": "7"});
    answer_with(&platform, &json!({"http": 400, "code": 99991400, "headers": headers}));
    let outcome = host.session.send(reply("id-1", &id, "hi")).await.expect("an outcome");
    assert!(
        matches!(outcome, SendOutcome::Retry { after_ms: Some(7_000), scope: Scope::Account, .. }),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_token_that_is_no_longer_good_is_renewed_within_the_send() {
    let platform = platform();
    let (host, id) = asked(&platform).await;
    platform.void_tokens();
    let outcome = host.session.send(reply("id-1", &id, "hi")).await.expect("an outcome");
    assert!(matches!(outcome, SendOutcome::Accepted { .. }), "{outcome:?}");
    assert_eq!(platform.visible(P2P), ["hi"]);
    assert_eq!(platform.requests("/tenant_access_token/internal").len(), 2);
}

#[tokio::test]
async fn refusals_are_final_and_told_by_their_code() {
    let platform = platform();
    let (host, id) = asked(&platform).await;
    for (answer, want) in [
        (json!({"http": 400, "code": 230028, "msg": "contain sensitive data: NAME"}), "230028"),
        (json!({"http": 400, "code": 230101}), "230101"),
        (json!({"http": 400, "body": "withdrawn"}), "http 400"),
    ] {
        answer_with(&platform, &answer);
        let outcome = host.session.send(reply("id-1", &id, "hi")).await.expect("an outcome");
        let SendOutcome::Refused { code, message, signed_out: false, .. } = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(code, want);
        assert!(!message.unwrap_or_default().contains("NAME"));
    }
    platform.recall(&id);
    let outcome = host.session.send(reply("id-2", &id, "late")).await.expect("an outcome");
    assert!(
        matches!(&outcome, SendOutcome::Refused { code, .. } if code == "230011"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn what_a_model_writes_is_made_harmless() {
    let platform = platform();
    let (host, id) = asked(&platform).await;
    for (n, text) in
        ["see [log](file:///tmp/a.log)", "<at user_id=\"all\">all</at>"].iter().enumerate()
    {
        let outcome = host.session.send(reply(&n.to_string(), &id, text)).await.expect("outcome");
        assert!(matches!(outcome, SendOutcome::Accepted { .. }), "{outcome:?}");
    }
    let shown = platform.visible(P2P);
    assert!(!shown.concat().contains("<at") && !shown.concat().contains("](file"), "{shown:?}");
}

#[tokio::test]
async fn a_text_that_is_refused_goes_out_as_plain_characters() {
    let platform = platform();
    let (host, id) = asked(&platform).await;
    answer_with(&platform, &json!({"http": 400, "code": 230001}));
    let outcome = host.session.send(reply("id-1", &id, "[a](b)")).await.expect("an outcome");
    assert!(matches!(outcome, SendOutcome::Accepted { .. }), "{outcome:?}");
    assert_eq!(platform.visible(P2P), ["[a]\u{200b}(b)"]);
    let sent = platform.sent();
    assert_ne!(sent[0].uuid, sent[1].uuid, "another text has another name");
    assert_eq!(platform.violations(), [""; 0]);
}
