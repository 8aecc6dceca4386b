//! Signing in, and credentials that are not good.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tokio::time::timeout;

use crate::{
    testkit::{
        PlatformScript,
        limits::OPERATION_MS,
        plugin::Trouble,
        report::{Case, Ended, ensure, excluded},
        scene::{Scene, with_unknown_option},
    },
    wire::{Fault, FaultKind, LoginEventBody, PromptAnswer},
};

/// The person does what is shown; the credentials are good for a session.
pub(crate) async fn login<S: PlatformScript>(scene: &Scene<S>) -> Case {
    scene.seat_the_person(&scene.plugin);
    let reply = scene.plugin.login(&scene.login_request()).await?;
    let Some(credentials) = reply.credentials else {
        return Err(Ended::Failed("a first sign-in brings no credentials".into()));
    };
    let credentials = credentials.into_inner();
    ensure!(credentials.is_object(), "the credentials are no JSON object");
    ensure!(!reply.summary.is_empty(), "the summary is empty; say who is signed in now");
    scene.plugin.inspect(&scene.channel.id, credentials.clone()).await?;
    let session = scene.plugin.connect(&scene.connect_request(credentials, None)).await?;
    session.next_batch(None).await?;
    Ok(())
}

/// The person goes away while something is shown: the call is dropped, and nothing stays.
pub(crate) async fn given_up<S: PlatformScript>(scene: &Scene<S>) -> Case {
    scene.plugin.watch.seat(Box::new(|_| None));
    let mut events = scene.plugin.watch.events();
    let request = scene.login_request();
    tokio::select! {
        biased;
        _ = events.changed() => Ok(()),
        reply = scene.plugin.login(&request) => match reply {
            Ok(_) => excluded("the sign-in shows nothing"),
            Err(trouble) => Err(trouble.into()),
        },
    }
}

/// The person answers a question with "no".
pub(crate) async fn declined<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let asked = Arc::new(AtomicBool::new(false));
    let (script, seen) = (scene.script.clone(), asked.clone());
    scene.plugin.watch.seat(Box::new(move |event| {
        if !matches!(event, LoginEventBody::Prompt { .. }) {
            return Some(script.person(event));
        }
        seen.store(true, Ordering::Relaxed);
        Some(PromptAnswer { answer: None, cancelled: true })
    }));
    let answer = scene.plugin.login(&scene.login_request()).await;
    if !asked.load(Ordering::Relaxed) {
        return excluded("the sign-in asks nothing");
    }
    fault_of("a declined question", answer, &[FaultKind::Cancelled])
}

/// Nobody confirms in time: the sign-in ends by itself, with words for the person.
pub(crate) async fn expires<S: PlatformScript>(scene: &Scene<S>) -> Case {
    if !scene.script.expire_logins() {
        return excluded("the script has no sign-in that expires");
    }
    scene.seat_the_person(&scene.plugin);
    let answer = scene.plugin.login(&scene.login_request()).await;
    let fault = expected_fault("an expired sign-in", answer)?;
    ensure!(!fault.message.is_empty(), "the fault has no words");
    Ok(())
}

/// An option that the manifest does not declare is refused, before anything is shown.
pub(crate) async fn unknown_option<S: PlatformScript>(scene: &Scene<S>) -> Case {
    scene.seat_the_person(&scene.plugin);
    let events = scene.plugin.watch.events();
    let mut request = scene.login_request();
    request.options = with_unknown_option(request.options);
    let answer = scene.plugin.login(&request).await;
    fault_of("an unknown option", answer, &[FaultKind::Config])?;
    ensure!(*events.borrow() == 0, "something was shown before the option was refused");
    Ok(())
}

/// The platform says no: `auth`, from connect or from the first batch.
pub(crate) async fn bad_credentials<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let Some(credentials) = scene.script.bad_credentials() else {
        return excluded("the script has no credentials that the platform refuses");
    };
    let request = scene.connect_request(credentials, None);
    let answer = async {
        let session = scene.plugin.connect(&request).await?;
        session.next_batch(None).await
    };
    fault_of("bad credentials", answer.await, &[FaultKind::Auth])
}

/// A document that is no credentials never becomes a session.
pub(crate) async fn no_credentials<S: PlatformScript>(scene: &Scene<S>) -> Case {
    let request = scene.connect_request(json!({}), None);
    let limit = Duration::from_millis(OPERATION_MS);
    let answer = timeout(limit, scene.plugin.connect(&request)).await;
    let answer = answer.map_err(|_| Ended::Failed("connect never answers".into()))?;
    fault_of("`{}` as credentials", answer, &[FaultKind::Config, FaultKind::Auth])
}

/// The answer must be a fault of one of these kinds.
pub(crate) fn fault_of<T>(what: &str, answer: Result<T, Trouble>, kinds: &[FaultKind]) -> Case {
    let fault = expected_fault(what, answer)?;
    ensure!(kinds.contains(&fault.kind), "{what}: {:?} ({fault}), not {kinds:?}", fault.kind);
    Ok(())
}

fn expected_fault<T>(what: &str, answer: Result<T, Trouble>) -> Result<Fault, Ended> {
    match answer {
        Err(Trouble::Fault { fault, .. }) => Ok(fault),
        Err(broken) => Err(broken.into()),
        Ok(_) => Err(Ended::Failed(format!("{what} is taken as good"))),
    }
}
