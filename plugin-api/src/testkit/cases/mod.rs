//! The cases, one function each, and the run over all of them.

mod closing;
mod documents;
mod panics;
mod reading;
mod sending;
mod signing_in;

use std::{future::Future, pin::Pin, thread, time::Duration};

use tokio::{runtime::Builder, time::timeout};

use super::{
    PlatformScript, Report, Subject,
    limits::CASE_MS,
    report::{Case, Ended, ensure},
    scene::Scene,
};

type Playing<'a> = Pin<Box<dyn Future<Output = Case> + Send + 'a>>;
type Play<S> = for<'a> fn(&'a Scene<S>) -> Playing<'a>;

/// Every case that plays on a scene, in the order of a plugin's life.
fn all<S: PlatformScript>() -> Vec<(&'static str, Play<S>)> {
    vec![
        ("inspect", |scene| Box::pin(documents::inspect(scene))),
        ("garbage", |scene| Box::pin(documents::garbage(scene))),
        ("unknown-fields", |scene| Box::pin(documents::unknown_fields(scene))),
        ("unknown-operation", |scene| Box::pin(documents::unknown_operation(scene))),
        ("login", |scene| Box::pin(signing_in::login(scene))),
        ("login-given-up", |scene| Box::pin(signing_in::given_up(scene))),
        ("login-declined", |scene| Box::pin(signing_in::declined(scene))),
        ("login-expires", |scene| Box::pin(signing_in::expires(scene))),
        ("login-unknown-option", |scene| Box::pin(signing_in::unknown_option(scene))),
        ("bad-credentials", |scene| Box::pin(signing_in::bad_credentials(scene))),
        ("no-credentials", |scene| Box::pin(signing_in::no_credentials(scene))),
        ("bad-checkpoint", |scene| Box::pin(reading::bad_checkpoint(scene))),
        ("empty-batch", |scene| Box::pin(reading::empty_batch(scene))),
        ("order", |scene| Box::pin(reading::order(scene))),
        ("unacked-again", |scene| Box::pin(reading::unacked_again(scene))),
        ("acked-stays-away", |scene| Box::pin(reading::acked_stays_away(scene))),
        ("wrong-ack", |scene| Box::pin(reading::wrong_ack(scene))),
        ("cancel-next-batch", |scene| Box::pin(reading::cancel(scene))),
        ("cut", |scene| Box::pin(reading::cut(scene))),
        ("clock-jump", |scene| Box::pin(reading::clock_jump(scene))),
        ("flood", |scene| Box::pin(reading::flood(scene))),
        ("memory", |scene| Box::pin(reading::memory(scene))),
        ("send", |scene| Box::pin(sending::send(scene))),
        ("send-while-reading", |scene| Box::pin(sending::while_reading(scene))),
        ("send-largest", |scene| Box::pin(sending::largest(scene))),
        ("send-refused", |scene| Box::pin(sending::refused(scene))),
        ("send-fails-once", |scene| Box::pin(sending::fails_once(scene))),
        ("send-twice", |scene| Box::pin(sending::twice(scene))),
        ("close", |scene| Box::pin(closing::close(scene))),
        ("two-accounts", |scene| Box::pin(closing::two_accounts(scene))),
        ("dropped-session", |scene| Box::pin(closing::dropped(scene))),
        ("panics", |scene| Box::pin(panics::every_callback(scene))),
    ]
}

/// Runs every case and prints each.
pub(super) fn run<S: PlatformScript>(subject: &Subject, version: &str) -> Report {
    let mut report = Report::default();
    report.add_printed("manifest", manifest(subject, version));
    let mut leaked = Ok(());
    for (name, play) in all::<S>() {
        let case = match reason(S::excluded(), name) {
            Some(reason) => Err(Ended::Excluded(reason.to_owned())),
            None => play_one(subject, play, &mut leaked),
        };
        report.add_printed(name, case);
    }
    report.add_printed("secrets", leaked);
    for (name, _) in S::excluded() {
        if !all::<S>().iter().any(|(known, _)| known == name) {
            let reason = "excluded by the script, but there is no such case".to_owned();
            report.add_printed(name, Err(Ended::Failed(reason)));
        }
    }
    report
}

fn reason(excluded: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    excluded.iter().find(|(excluded, _)| *excluded == name).map(|(_, reason)| *reason)
}

/// Each case has a runtime of its own, so that nothing of one goes on in the next.
fn play_one<S: PlatformScript>(subject: &Subject, play: Play<S>, leaked: &mut Case) -> Case {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Ended::Failed(error.to_string()))?;
    let limit = Duration::from_millis(CASE_MS);
    let case = runtime.block_on(async {
        let playing = async {
            let scene = Scene::<S>::set(subject).await?;
            let case = play(&scene).await;
            if let Some(words) = scene.plugin.watch.leak(&scene.script.secrets()) {
                *leaked = Err(Ended::Failed(format!("a log line or a fault says: {words}")));
            }
            // What went wrong first is worth more than what that left behind.
            let struck = scene.strike().await;
            case.and(struck)
        };
        let late = |_| Err(Ended::Failed(format!("not over in {} s", limit.as_secs())));
        timeout(limit, playing).await.unwrap_or_else(late)
    });
    // An entry that never came back keeps its thread; the other cases go on.
    runtime.shutdown_background();
    thread::yield_now();
    case
}

fn manifest(subject: &Subject, version: &str) -> Case {
    let manifest = subject.manifest().map_err(|fault| Ended::Failed(fault.message))?;
    ensure!(
        manifest.version == version,
        "it says version {}, and the crate is {version}",
        manifest.version
    );
    ensure!(manifest.abi == "1.0", "it says ABI {}, and the kit tests 1.0", manifest.abi);
    Ok(())
}
