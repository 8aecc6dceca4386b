//! What a program that writes to the endpoint gets to see.

use scv_channel_webhook::{Signed, Webhook, WebhookSession, sign};
use scv_plugin_api::{
    Channel, Session, Stop,
    wire::{ConnectRequest, CreateConfig, FaultKind, Outgoing, Recipient, ReplyTo, SendOutcome},
};
use serde_json::{Value, json};

use crate::client::{Call, Callback, SECRET, now, own_address};

struct Account {
    plugin: Webhook,
    session: WebhookSession,
    stop: Stop,
    address: String,
}

impl Account {
    async fn open(callback: Option<&str>) -> Self {
        let plugin = Webhook::create(CreateConfig::default()).unwrap();
        let (address, stop) = (own_address(), Stop::new());
        let session = connect(&plugin, &address, callback, &stop).await.unwrap();
        Self { plugin, session, stop, address }
    }

    fn call(&self, target: &str, body: impl Into<String>) -> Call {
        Call::new(&self.address, target, body)
    }
}

async fn connect(
    plugin: &Webhook,
    address: &str,
    callback: Option<&str>,
    stop: &Stop,
) -> scv_plugin_api::Result<WebhookSession> {
    let credentials = json!({ "listen": address, "secret": SECRET, "callback": callback });
    let request = ConnectRequest {
        session_id: "s1".into(),
        channel: "webhook".into(),
        account: "default".into(),
        credentials: credentials.into(),
        checkpoint: None,
    };
    plugin.connect(request, stop.clone()).await
}

fn hello() -> String {
    json!({ "sender": "ann", "text": "hello" }).to_string()
}

fn reply(client_id: &str, text: &str) -> Outgoing {
    Outgoing {
        client_id: client_id.into(),
        text: text.into(),
        reply: Some(ReplyTo { message_id: "m1".into(), reply_token: None }),
        recipient: Recipient { user: "ann".into(), group: Some("room".into()) },
    }
}

#[tokio::test]
async fn a_message_is_answered_when_the_host_has_it_and_not_before() {
    let account = Account::open(None).await;
    let call = account.call("POST /v1/messages", hello());
    let id = call.nonce.clone();
    let sending = tokio::spawn(async move { call.send().await.unwrap() });
    let mut ack = None;
    let token = loop {
        let batch = account.session.next_batch(ack).await.unwrap();
        if let [message] = &batch.messages[..] {
            assert_eq!(
                (message.id.as_str(), message.text.as_deref()),
                (id.as_str(), Some("hello"))
            );
            break batch.token;
        }
        ack = Some(batch.token);
    };
    assert!(!sending.is_finished());
    let (waiting, sent) = tokio::join!(
        tokio::time::timeout(
            std::time::Duration::from_millis(50),
            account.session.next_batch(Some(token))
        ),
        sending,
    );
    assert!(waiting.is_err(), "nothing else came");
    assert_eq!(sent.unwrap(), (202, json!({ "ids": [id] })));
}

#[tokio::test]
async fn what_is_not_signed_well_is_refused() {
    let account = Account::open(None).await;
    let good = || account.call("GET /v1/replies", "");
    assert_eq!(good().send().await.unwrap().0, 200);
    for wrong in [
        Call { secret: "another secret, as long".into(), ..good() },
        Call { timestamp: now() - 301, ..good() },
        Call { timestamp: now() + 400, ..good() },
        Call { nonce: "short".into(), ..good() },
    ] {
        let (status, body) = wrong.send().await.unwrap();
        assert_eq!(status, 401);
        assert!(body["error"].as_str().unwrap().contains("; "), "{body}");
    }
}

#[tokio::test]
async fn a_request_counts_once_even_for_a_new_session() {
    let account = Account::open(None).await;
    let call = account.call("GET /v1/replies", "");
    assert_eq!(call.send().await.unwrap().0, 200);
    assert_eq!(call.send().await.unwrap().0, 409);
    account.stop.fire();
    account.session.close().await;
    let stop = Stop::new();
    let _session = connect(&account.plugin, &account.address, None, &stop).await.unwrap();
    assert_eq!(call.send().await.unwrap().0, 409);
}

#[tokio::test]
async fn wrong_requests_say_what_to_do() {
    let account = Account::open(None).await;
    for (target, body, status) in [
        ("GET /v1/messages", String::new(), 405),
        ("POST /v1/replies", String::new(), 405),
        ("GET /", String::new(), 404),
        ("GET /v1/replies?wait=31", String::new(), 400),
        ("GET /v1/replies?x=1", String::new(), 400),
        ("POST /v1/messages", "no JSON".into(), 400),
        ("POST /v1/messages", "x".repeat(512 * 1024 + 1), 413),
    ] {
        let (answered, answer) = account.call(target, body).send().await.unwrap();
        assert_eq!(answered, status, "{target}: {answer}");
        assert!(answer["error"].as_str().unwrap().contains("; "), "{answer}");
    }
}

#[tokio::test]
async fn replies_wait_until_they_are_fetched_and_confirmed() {
    let account = Account::open(None).await;
    let waiting = account.call("GET /v1/replies?wait=30", "");
    let waiting = tokio::spawn(async move { waiting.send().await.unwrap().1 });
    let outcome = account.session.send(reply("c1", "hi")).await.unwrap();
    assert!(matches!(outcome, SendOutcome::Accepted { receipt: Some(_) }), "{outcome:?}");
    let first = waiting.await.unwrap();
    let expected = json!({
        "client_id": "c1", "reply_to": "m1", "user": "ann", "group": "room", "text": "hi",
    });
    assert_eq!(first["replies"], json!([expected]));
    account.stop.fire();
    account.session.close().await;

    // A new session of the same address still has what nobody confirmed.
    let stop = Stop::new();
    let _session = connect(&account.plugin, &account.address, None, &stop).await.unwrap();
    let again = account.call("GET /v1/replies", "").send().await.unwrap().1;
    assert_eq!(again["replies"], first["replies"]);
    let target = format!("GET /v1/replies?after={}", first["cursor"].as_str().unwrap());
    let rest = account.call(&target, "").send().await.unwrap().1;
    assert_eq!(rest["replies"], json!([]));
}

#[tokio::test]
async fn a_callback_gets_signed_posts() {
    let callback = Callback::start().await;
    let account = Account::open(Some(&callback.url)).await;
    account.session.send(reply("c1", "hi")).await.unwrap();
    let (head, body) = callback.state.lock().unwrap().posts[0].clone();
    assert_eq!(body["text"], "hi");
    let header = |name: &str| {
        let found = head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        found.unwrap().to_owned()
    };
    let signed = Signed {
        timestamp: &header("scv-timestamp"),
        nonce: &header("scv-nonce"),
        target: "POST /hook?x=1",
        body: &serde_json::to_vec(&ordered(&body)).unwrap(),
    };
    assert_eq!(header("scv-signature"), sign(SECRET, &signed));
}

/// The fields in the order in which they are written.
fn ordered(body: &Value) -> impl serde::Serialize {
    #[derive(serde::Serialize)]
    struct Body {
        client_id: Value,
        reply_to: Value,
        user: Value,
        group: Value,
        text: Value,
    }
    let field = |name: &str| body[name].clone();
    Body {
        client_id: field("client_id"),
        reply_to: field("reply_to"),
        user: field("user"),
        group: field("group"),
        text: field("text"),
    }
}

#[tokio::test]
async fn a_callback_that_is_not_there_is_tried_again() {
    let callback = Callback::start().await;
    let account = Account::open(Some(&callback.url)).await;
    // Port 9 of an address of our own: nobody listens.
    let gone = format!("http://{}/", own_address());
    let other = connect(&account.plugin, &own_address(), Some(&gone), &Stop::new()).await.unwrap();
    let outcome = other.send(reply("c1", "hi")).await.unwrap();
    assert!(matches!(outcome, SendOutcome::Retry { after_ms: Some(_), .. }), "{outcome:?}");
}

#[tokio::test]
async fn an_address_that_is_taken_is_tried_again() {
    let account = Account::open(None).await;
    let taken = connect(&account.plugin, &account.address, None, &Stop::new()).await;
    let fault = taken.err().unwrap();
    assert_eq!(fault.kind, FaultKind::Retry);
    assert!(fault.message.contains("another program"), "{}", fault.message);
}
