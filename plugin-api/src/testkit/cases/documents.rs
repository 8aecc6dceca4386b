//! What crosses the boundary, good and bad.

use serde_json::{Value, json};

use crate::{
    limits::MAX_DOCUMENT_BYTES,
    testkit::{
        PlatformScript,
        plugin::{Trouble, document},
        report::{Case, ensure},
        scene::Scene,
        session::{Reading, Session},
    },
    wire::{FaultKind, InspectRequest, SendOutcome},
};

/// Pure: the same answer twice, for the real credentials and for none.
pub(crate) async fn inspect<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let channel = &scene.channel.id;
    let first = scene.plugin.inspect(channel, scene.script.credentials()).await?;
    let second = scene.plugin.inspect(channel, scene.script.credentials()).await?;
    ensure!(first == second, "two answers for the same credentials differ");
    ensure!(!first.fingerprint.is_empty(), "the fingerprint has no part");
    match scene.plugin.inspect(channel, json!({})).await {
        Ok(_) => Ok(()),
        Err(Trouble::Fault { fault, .. }) => {
            ensure!(fault.kind == FaultKind::Config, "`{{}}` is answered {:?}", fault.kind);
            Ok(())
        }
        Err(broken) => Err(broken.into()),
    }
}

/// What is no document is a `protocol` fault, everywhere.
pub(crate) async fn garbage<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let plugin = &scene.plugin;
    let session = scene.connect(None).await?;
    for (name, bytes) in bad_documents() {
        refused(name, "inspect", plugin.inspect_raw(bytes.clone()).await)?;
        refused(name, "login", plugin.login_raw(bytes.clone()).await)?;
        refused(name, "connect", plugin.connect_raw(bytes.clone()).await)?;
        refused(name, "call", plugin.call_raw("no.such", bytes.clone()).await)?;
        refused(name, "next_batch", session.next_batch_raw(bytes.clone()).await)?;
        refused(name, "send", session.send_raw(bytes.clone()).await)?;
        refused(name, "session call", session.call_raw("no.such", bytes).await)?;
    }
    // None of it was the session's fault.
    session.next_batch(None).await?;
    Ok(())
}

fn bad_documents() -> Vec<(&'static str, Vec<u8>)> {
    let mut large = br#"{"x":""#.to_vec();
    large.resize(MAX_DOCUMENT_BYTES, b'a');
    large.extend(b"\"}");
    vec![
        ("nothing", Vec::new()),
        ("a lone brace", b"{".to_vec()),
        ("a list", b"[]".to_vec()),
        ("null", b"null".to_vec()),
        ("no UTF-8", b"{\"x\":\"\xff\xfe\"}".to_vec()),
        ("a cut line", br#"{"session_id":"s","cha"#.to_vec()),
        ("more than 1 MiB", large),
    ]
}

fn refused<T>(document: &str, op: &str, answer: Result<T, Trouble>) -> Case {
    match answer {
        Err(Trouble::Fault { fault, .. }) => {
            let kind = fault.kind;
            ensure!(kind == FaultKind::Protocol, "{op} answers {document} with {kind:?}: {fault}");
            Ok(())
        }
        Err(broken) => Err(broken.into()),
        Ok(_) => {
            ensure!(false, "{op} takes {document}");
            Ok(())
        }
    }
}

/// Fields of a later version, and a body after the line, change nothing.
pub(crate) async fn unknown_fields<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let inspect = InspectRequest {
        channel: scene.channel.id.clone(),
        account: "default".into(),
        credentials: scene.script.credentials().into(),
    };
    scene.plugin.inspect_raw(later(document("inspect", &inspect)?)).await?;
    let connect = scene.connect_request(scene.script.credentials(), None);
    let session = scene.plugin.connect_raw(later(document("connect", &connect)?)).await?;
    let batch = session.next_batch_raw(later(br#"{"ack":null}"#.to_vec())).await?;
    let mut reading = Reading::new(&session, None);
    reading.took(&batch);
    let question = scene.received(&mut reading).await?;
    let reply = later(document("send", &scene.reply(&question, "an answer"))?);
    let outcome = session.send_raw(reply).await?;
    ensure!(matches!(outcome, SendOutcome::Accepted { .. }), "send: {outcome:?}");
    Ok(())
}

/// The same document as a later version might write it.
fn later(bytes: Vec<u8>) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    value["from_a_later_version"] = json!({ "deep": [1, null, "x"] });
    if value["recipient"].is_object() {
        value["recipient"]["from_a_later_version"] = true.into();
    }
    let mut bytes = value.to_string().into_bytes();
    bytes.extend(b"\n\x00\x01a raw body");
    bytes
}

/// An operation of a later version is `unsupported`, so that the host can do without.
pub(crate) async fn unknown_operation<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let payload = document("call", &json!({}))?;
    unsupported("the plugin", scene.plugin.call_raw("no.such.operation", payload).await)?;
    let session: Session = scene.connect(None).await?;
    unsupported("the session", session.call("no.such.operation").await)
}

fn unsupported(who: &str, answer: Result<Value, Trouble>) -> Case {
    match answer {
        Err(Trouble::Fault { fault, .. }) => {
            let kind = fault.kind;
            ensure!(kind == FaultKind::Unsupported, "{who} answers {kind:?}");
            Ok(())
        }
        Err(broken) => Err(broken.into()),
        Ok(_) => {
            ensure!(false, "{who} answers an operation that does not exist");
            Ok(())
        }
    }
}
