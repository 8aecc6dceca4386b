//! A panic in any of the author's callbacks: a fault for that call, and nothing else ends.

use serde_json::json;

use crate::{
    testkit::{
        PlatformScript,
        panicking::Callback,
        plugin::{Plugin, Trouble, document},
        report::{Case, Ended, ensure, excluded},
        scene::Scene,
        session::Reading,
    },
    wire::FaultKind,
};

/// One plugin after the other, each with a panic in another callback.
pub(crate) async fn every_callback<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let Some(subject) = scene.subject.panicking() else {
        return excluded("a built library is not made to panic; the linked code is");
    };
    for callback in Callback::ALL {
        let named = |ended: Ended| match ended {
            Ended::Failed(reason) => Ended::Failed(format!("a panic in {callback:?}: {reason}")),
            ended => ended,
        };
        let config = callback.chosen(scene.script.config());
        match Plugin::create(&subject, config).await {
            Ok(plugin) => live(scene, &plugin, callback).await.map_err(named)?,
            Err(Trouble::Panicked { .. }) if callback == Callback::Create => {}
            Err(trouble) => return Err(named(trouble.into())),
        }
    }
    Ok(())
}

/// A whole life, in which only the call that panics fails.
async fn live<S: PlatformScript>(scene: &Scene<S>, plugin: &Plugin, callback: Callback) -> Case {
    ensure!(callback != Callback::Create, "a plugin was made");
    let inspected = plugin.inspect(&scene.channel.id, scene.script.credentials()).await;
    panicked(inspected, callback == Callback::Inspect)?;
    scene.seat_the_person(plugin);
    let signed_in = plugin.login(&scene.login_request()).await;
    panicked(signed_in, callback == Callback::Login)?;
    let request = scene.connect_request(scene.script.credentials(), None);
    let connected = plugin.connect(&request).await;
    if let Some(session) = panicked(connected, callback == Callback::Connect)? {
        let mut reading = Reading::new(&session, None);
        let first = reading.next().await;
        if panicked(first, callback == Callback::NextBatch)?.is_some() {
            let question = scene.received(&mut reading).await?;
            let sent = session.send(&scene.reply(&question, "an answer")).await;
            panicked(sent, callback == Callback::Send)?;
        }
        let left = session.close().await?.tasks_left;
        ensure!(left == 0, "{left} tasks were left after close");
    }
    let known = plugin.call_raw("no.such.operation", document("call", &json!({}))?).await;
    let unsupported = matches!(
        &known,
        Err(Trouble::Fault { fault, .. }) if fault.kind == FaultKind::Unsupported
    );
    ensure!(unsupported, "afterwards the plugin no longer answers");
    if let Some(words) = plugin.watch.leak(&scene.script.secrets()) {
        ensure!(false, "a log line or a fault says: {words}");
    }
    let left = plugin.shutdown().await?.tasks_left;
    ensure!(left == 0, "{left} tasks were left after shutdown");
    Ok(())
}

/// The value, or nothing where the panic is due.
fn panicked<T>(answer: Result<T, Trouble>, is_due: bool) -> Result<Option<T>, Ended> {
    match (answer, is_due) {
        (Ok(value), false) => Ok(Some(value)),
        (Err(Trouble::Panicked { .. }), true) => Ok(None),
        (Ok(_), true) => Err(Ended::Failed("the call went well".into())),
        (Err(trouble), _) => Err(trouble.into()),
    }
}
