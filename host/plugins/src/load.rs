//! Steps 5 to 7 for one plugin: the copy, loading it, and its `create`, on a thread of its own.

use std::{collections::BTreeMap, path::PathBuf, thread};

use scv_plugin_abi::{RawHostArc, RawPluginBox};
use scv_plugin_api::wire::{CreateConfig, Fault, Manifest, decode, encode};
use serde_json::Value;
use tokio::{
    runtime::Handle,
    sync::mpsc,
    task::spawn_blocking,
    time::{Instant, timeout_at},
};

use crate::{
    Deadlines, Refusal, Step,
    cache::{Cache, HeldCopy},
    in_process::{HostSide, InProcess},
    inspect::ABI,
    library,
    read::read_again,
    sanitize,
};

/// What is loaded, and what it is given.
pub(crate) struct Job {
    pub(crate) file: PathBuf,
    pub(crate) sha256: String,
    pub(crate) manifest: Manifest,
    /// As it stands in the file.
    pub(crate) manifest_text: String,
    pub(crate) cache_dir: PathBuf,
    pub(crate) create: CreateConfig,
    pub(crate) settings: BTreeMap<String, Value>,
    pub(crate) deadlines: Deadlines,
}

/// Why a plugin did not load.
#[derive(Debug)]
pub(crate) enum NotLoaded {
    /// A step said no.
    Refused(Refusal),
    /// A step did not come back; its thread is lost.
    Hung(Refusal),
}

/// What the loading thread says, in this order.
enum Progress {
    Loaded,
    Created(Box<RawPluginBox>),
    Failed(Refusal),
}

/// The loading thread says at most this much, so it never waits for a listener.
const STEPS: usize = 2;

/// Runs the steps. Once plugin code runs, this returns within the deadline of `create`
/// whatever the plugin does.
pub(crate) async fn load(job: Job) -> Result<InProcess, NotLoaded> {
    let manifest = job.manifest.clone();
    let deadlines = job.deadlines;
    let cache = Cache::lock(&job.cache_dir).await.map_err(NotLoaded::Refused)?;
    let prepared = spawn_blocking(move || job.prepare(&cache)).await;
    let prepared = prepared
        .map_err(|_| NotLoaded::Refused(panicked(Step::Copy)))?
        .map_err(NotLoaded::Refused)?;
    let (host, raw) = HostSide::new(&manifest.name, Handle::current(), &deadlines);
    let (progress, steps) = mpsc::channel(STEPS);
    thread::Builder::new()
        .name(format!("load-{}", manifest.name))
        .spawn(move || {
            let last = match prepared.open_and_create(raw, &progress) {
                Ok(plugin) => Progress::Created(Box::new(plugin)),
                Err(refusal) => Progress::Failed(refusal),
            };
            // Nobody listens any more when this came too late; then the plugin is dropped.
            let _ = progress.try_send(last);
        })
        .map_err(|error| NotLoaded::Refused(no_thread(&error)))?;
    let plugin = wait(steps, Instant::now() + deadlines.create).await?;
    Ok(InProcess::new(plugin, manifest, host, deadlines))
}

async fn wait(
    mut steps: mpsc::Receiver<Progress>,
    deadline: Instant,
) -> Result<RawPluginBox, NotLoaded> {
    let mut step = Step::Load;
    loop {
        match timeout_at(deadline, steps.recv()).await {
            Ok(Some(Progress::Loaded)) => step = Step::Create,
            Ok(Some(Progress::Created(plugin))) => return Ok(*plugin),
            Ok(Some(Progress::Failed(refusal))) => return Err(NotLoaded::Refused(refusal)),
            Ok(None) => return Err(NotLoaded::Refused(panicked(step))),
            Err(_) => return Err(NotLoaded::Hung(hung(step))),
        }
    }
}

impl Job {
    /// Everything before plugin code runs.
    fn prepare(self, cache: &Cache) -> Result<Prepared, Refusal> {
        let config = self.config()?;
        let contents = read_again(&self.file, &self.sha256)?;
        Ok(Prepared { copy: cache.store(&contents)?, config, manifest: self.manifest_text })
    }

    /// The configuration document: the host's part, and the settings that the manifest knows.
    fn config(&self) -> Result<Vec<u8>, Refusal> {
        let mut config = self.create.clone();
        ABI.clone_into(&mut config.host.abi);
        config.settings = settings(&self.manifest, self.settings.clone())?;
        encode(&config).map_err(|fault| create_refused(fault.message))
    }
}

/// A private copy, ready to be loaded.
struct Prepared {
    copy: HeldCopy,
    config: Vec<u8>,
    manifest: String,
}

impl Prepared {
    fn open_and_create(
        self,
        host: RawHostArc,
        progress: &mpsc::Sender<Progress>,
    ) -> Result<RawPluginBox, Refusal> {
        let module = library::open(self.copy)?;
        if module.manifest()().as_str() != self.manifest {
            return Err(Refusal::new(
                Step::Load,
                "the loaded library has another manifest than its file",
                "build the plugin again",
            ));
        }
        let _ = progress.try_send(Progress::Loaded);
        let created = module.create()(self.config.into(), host);
        created.into_result().map_err(|fault| create_failed(&fault))
    }
}

fn settings(
    manifest: &Manifest,
    mut given: BTreeMap<String, Value>,
) -> Result<BTreeMap<String, Value>, Refusal> {
    let known = |name: &String| manifest.settings.iter().any(|setting| setting.name == *name);
    if let Some(unknown) = given.keys().find(|name| !known(name)) {
        return Err(Refusal::new(
            Step::Create,
            format!("it has no setting '{unknown}'"),
            format!("remove the key from [plugins.{}.settings]", manifest.name),
        ));
    }
    for setting in &manifest.settings {
        if let Some(default) = &setting.default {
            let value = || Value::from(default.clone());
            given.entry(setting.name.clone()).or_insert_with(value);
        }
    }
    Ok(given)
}

fn create_failed(fault: &[u8]) -> Refusal {
    let fault: Fault = decode("a fault", fault).unwrap_or_else(|undecodable| undecodable);
    create_refused(sanitize::fault(fault).message)
}

fn create_refused(reason: impl Into<String>) -> Refusal {
    let fix = "check the plugin's settings, then run `scv reload`";
    Refusal::new(Step::Create, reason, fix)
}

fn hung(step: Step) -> Refusal {
    Refusal::new(
        step,
        "the plugin did not come back while it was loaded",
        "switch it off or use another version of it, then restart the daemon",
    )
}

fn panicked(step: Step) -> Refusal {
    Refusal::new(
        step,
        "loading ended with an internal error",
        "look into the log, then run `scv reload`",
    )
}

fn no_thread(error: &std::io::Error) -> Refusal {
    Refusal::new(
        Step::Load,
        format!("no thread could be started: {error}"),
        "free some memory, then run `scv reload`",
    )
    .transient()
}
