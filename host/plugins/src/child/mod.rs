//! A plugin in a process of its own: the same library behind the same ABI, with a socket
//! between.
//!
//! [`run_helper`] is the child. [`load`] is the host's side: it gives an ABI object that the
//! adapter speaks to as if the library were here.

mod confine;
mod far_host;
mod frame;
mod link;
mod outlet;
mod process;
mod remote;
mod serve;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use abi_stable::std_types::RResult;
use scv_plugin_abi::{RawHostArc, RawPluginBox};
use tokio::time::timeout;

use crate::{
    Deadlines, Refusal, Step,
    adapter::level,
    limits::CHILD_START_MS,
    load::{create_failed, other_manifest},
};
use frame::Kind;
use link::Startup;

pub(crate) use link::Link;
pub(crate) use process::Process;

/// What a child is for. Both do the same: a probe is let go once it has loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Probe,
    Host,
}

impl Purpose {
    /// The hidden command of the program.
    const fn word(self) -> &'static str {
        match self {
            Self::Probe => "__plugin-probe",
            Self::Host => "__plugin-host",
        }
    }

    /// The loader's step that this child is.
    const fn step(self) -> Step {
        match self {
            Self::Probe => Step::Probe,
            Self::Host => Step::Load,
        }
    }
}

/// Runs the child when these are its arguments; none when they are a person's.
///
/// A program that uses [`crate::PluginHost`] calls this before anything else.
#[must_use]
pub fn run_helper(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    let word = arguments.next()?;
    if ![Purpose::Probe, Purpose::Host].iter().any(|purpose| word == purpose.word()) {
        return None;
    }
    let copy = PathBuf::from(arguments.next()?);
    let served = confine::take_socket().and_then(|socket| {
        confine::limit()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let served = runtime.block_on(serve::serve(socket, &copy));
        // An `inspect` that hangs must not keep the process.
        runtime.shutdown_background();
        served
    });
    Some(match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}; scv runs this command by itself, it is not for people");
            ExitCode::FAILURE
        }
    })
}

/// What a child is started with.
pub(crate) struct Spec<'a> {
    /// The program that knows the hidden commands.
    pub(crate) helper: &'a Path,
    pub(crate) copy: &'a Path,
    /// As it stands in the file.
    pub(crate) manifest: &'a str,
    pub(crate) deadlines: &'a Deadlines,
}

/// Why a child does not serve.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) refusal: Refusal,
    /// It ended by itself, as the daemon would have.
    pub(crate) died: bool,
}

impl Failure {
    const fn refused(refusal: Refusal) -> Self {
        Self { refusal, died: false }
    }
}

/// A child that has loaded its library.
pub(crate) struct Loaded {
    link: Arc<Link>,
    deadline: Duration,
}

/// Starts a child and lets it load the library.
pub(crate) async fn load(
    spec: &Spec<'_>,
    purpose: Purpose,
    host: RawHostArc,
) -> Result<Loaded, Failure> {
    let started = Process::start(spec.helper, purpose, spec.copy).await;
    let linked = started.and_then(|(process, socket)| Link::new(process, socket, host));
    let (link, mut startup) =
        linked.map_err(|error| Failure::refused(not_started(purpose, &error)))?;
    // Starting a program takes as long as the machine is busy; loading is the plugin's time.
    let start = Duration::from_millis(CHILD_START_MS);
    let mut manifest = None;
    for limit in [start, spec.deadlines.probe] {
        match timeout(limit, startup.recv()).await {
            Ok(Some(Startup::Hello)) => {}
            Ok(Some(Startup::Loaded(text))) => manifest = Some(text),
            Ok(Some(Startup::Refused(document))) => {
                return Err(Failure::refused(told(purpose, &document)));
            }
            Ok(None) => return Err(died(&link, purpose.step(), "while loading").await),
            Err(_) => return Err(Failure::refused(slow(purpose))),
        }
    }
    if manifest.as_deref() != Some(spec.manifest) {
        return Err(Failure::refused(other_manifest()));
    }
    link.tell(0, Kind::Level, [level()]);
    Ok(Loaded { link, deadline: spec.deadlines.create })
}

impl Loaded {
    /// Makes the plugin there.
    pub(crate) async fn create(
        self,
        config: Vec<u8>,
    ) -> Result<(Arc<Link>, RawPluginBox), Failure> {
        let link = self.link;
        let (_, answer) = link.request(Kind::Create, config);
        let Ok(reply) = timeout(self.deadline, answer).await else {
            let refusal = Refusal::new(
                Step::Create,
                "the plugin did not come back from its create",
                "use another version of it, or switch it off",
            );
            return Err(Failure::refused(refusal));
        };
        match reply {
            RResult::ROk(_) => Ok((Arc::clone(&link), remote::plugin(link))),
            RResult::RErr(_) if link.ended().is_some() => {
                Err(died(&link, Step::Create, "in its create").await)
            }
            RResult::RErr(fault) => Err(Failure::refused(create_failed(&fault))),
        }
    }
}

async fn died(link: &Link, step: Step, when: &str) -> Failure {
    let how = link.process().ended().await;
    let refusal = Refusal::new(
        step,
        format!("died {when}: {how}"),
        "use another version of the plugin; `scv plugins check NAME` tries it again",
    );
    Failure { refusal, died: true }
}

fn told(purpose: Purpose, document: &[u8]) -> Refusal {
    serde_json::from_slice(document).unwrap_or_else(|_| {
        Refusal::new(
            purpose.step(),
            "the child that loads it said why not, and it cannot be read",
            "run `scv plugins check NAME`",
        )
    })
}

fn slow(purpose: Purpose) -> Refusal {
    Refusal::new(
        purpose.step(),
        "it was not loaded in time",
        "wait until the machine is less busy; it is tried again",
    )
    .transient()
}

fn not_started(purpose: Purpose, error: &std::io::Error) -> Refusal {
    Refusal::new(
        purpose.step(),
        format!("the child that loads it cannot be started: {error}"),
        "free some memory; it is tried again",
    )
    .transient()
}
