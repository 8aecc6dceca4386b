//! Sending: what was accepted is shown, once and unchanged.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::{
    testkit::{
        PlatformScript,
        limits::{LOOK_AGAIN_MS, OPERATION_MS},
        report::{Case, ensure, excluded},
        scene::Scene,
        session::Reading,
    },
    wire::SendOutcome,
};

/// A reply is accepted and shown.
pub(crate) async fn send<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let session = scene.connect(None).await?;
    let mut reading = Reading::new(&session, None);
    reading.next().await?;
    let question = scene.received(&mut reading).await?;
    let text = "two lines,\n<b>&amp; \"quotes\" – 漢字 😀";
    let outcome = session.send(&scene.reply(&question, text)).await?;
    let SendOutcome::Accepted { receipt } = &outcome else {
        ensure!(false, "the outcome is {outcome:?}");
        return Ok(());
    };
    let promised = scene.channel.receipts;
    ensure!(!promised || receipt.is_some(), "the manifest promises receipts, and there is none");
    shown(scene, &[text]).await
}

/// A reply goes out while the host waits for messages.
pub(crate) async fn while_reading<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let session = scene.connect(None).await?;
    let mut reading = Reading::new(&session, None);
    reading.next().await?;
    let question = scene.received(&mut reading).await?;
    let reply = scene.reply(&question, "meanwhile");
    let sending = async {
        let outcome = session.send(&reply).await;
        // Nobody has to wait for the end of an empty read.
        scene.script.inbound(&["more".to_owned()]).await;
        outcome
    };
    let (more, outcome) = tokio::join!(reading.texts(1), sending);
    more?;
    let outcome = outcome?;
    ensure!(matches!(outcome, SendOutcome::Accepted { .. }), "the outcome is {outcome:?}");
    shown(scene, &["meanwhile"]).await
}

/// The largest texts that the manifest allows, of small and of large characters.
pub(crate) async fn largest<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let session = scene.connect(None).await?;
    let mut reading = Reading::new(&session, None);
    reading.next().await?;
    let max = scene.channel.limits.max_message_bytes as usize;
    let texts = ["x".repeat(max), "😀".repeat(max / 4)];
    for text in &texts {
        let question = scene.received(&mut reading).await?;
        let outcome = session.send(&scene.reply(&question, text)).await?;
        ensure!(
            matches!(outcome, SendOutcome::Accepted { .. }),
            "{} bytes are not taken: {outcome:?}",
            text.len()
        );
    }
    shown(scene, &[&texts[0], &texts[1]]).await
}

/// The platform says no for good.
pub(crate) async fn refused<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let session = scene.connect(None).await?;
    let mut reading = Reading::new(&session, None);
    reading.next().await?;
    let question = scene.received(&mut reading).await?;
    if !scene.script.refuse_next() {
        return excluded("the script refuses nothing");
    }
    let outcome = session.send(&scene.reply(&question, "no")).await?;
    ensure!(matches!(outcome, SendOutcome::Refused { .. }), "a refusal is {outcome:?}");
    shown(scene, &[]).await
}

/// A failure that passes is `retry`, and the same `client_id` again is shown once.
pub(crate) async fn fails_once<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let session = scene.connect(None).await?;
    let mut reading = Reading::new(&session, None);
    reading.next().await?;
    let question = scene.received(&mut reading).await?;
    if !scene.script.fail_next() {
        return excluded("the script has no failure that passes");
    }
    let reply = scene.reply(&question, "again");
    let outcome = session.send(&reply).await?;
    ensure!(matches!(outcome, SendOutcome::Retry { .. }), "a failure is {outcome:?}");
    let outcome = session.send(&reply).await?;
    ensure!(matches!(outcome, SendOutcome::Accepted { .. }), "the second try is {outcome:?}");
    shown(scene, &["again"]).await
}

/// The same `client_id` twice: one message, where the platform promises that.
pub(crate) async fn twice<S: PlatformScript>(scene: &Scene<S>) -> Case {
    if !scene.script.knows_client_ids() {
        return excluded("the platform does not know a repeated client_id");
    }
    let session = scene.connect(None).await?;
    let mut reading = Reading::new(&session, None);
    reading.next().await?;
    let question = scene.received(&mut reading).await?;
    let reply = scene.reply(&question, "once");
    for _ in 0..2 {
        let outcome = session.send(&reply).await?;
        ensure!(matches!(outcome, SendOutcome::Accepted { .. }), "the outcome is {outcome:?}");
    }
    shown(scene, &["once"]).await
}

/// What was accepted may still be on its way to the person.
async fn shown<S: PlatformScript>(scene: &Scene<S>, texts: &[&str]) -> Case {
    let begun = Instant::now();
    let shown = loop {
        let shown = scene.script.shown().await;
        if shown.len() >= texts.len() || begun.elapsed() > Duration::from_millis(OPERATION_MS) {
            break shown;
        }
        sleep(Duration::from_millis(LOOK_AGAIN_MS)).await;
    };
    ensure!(shown.len() == texts.len(), "{} messages were shown, not {}", shown.len(), texts.len());
    for (shown, text) in shown.iter().zip(texts) {
        ensure!(shown == text, "a text of {} bytes was changed on its way", text.len());
    }
    Ok(())
}
