//! Steps 6 to 9 for one plugin: the copy, the probe, loading it, and its `create`.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, thread};

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
    Deadlines, HostOptions, Isolation, Refusal, Step,
    adapter::{Adapter, HostSide},
    cache::{Cache, HeldCopy},
    child::Spec,
    inspect::ABI,
    instance::Instance,
    library,
    limits::MAX_LOAD_ATTEMPTS_COUNT,
    probe::{Known, probe},
    process_plugin::{ProcessPlugin, Recipe},
    read::read_again,
    sanitize,
    scan::Candidate,
    sentinel::{self, LeftBehind},
};

/// What is loaded, and what it is given.
pub(crate) struct Job {
    pub(crate) file: PathBuf,
    pub(crate) sha256: String,
    pub(crate) manifest: Manifest,
    /// As it stands in the file.
    pub(crate) manifest_text: String,
    pub(crate) isolation: Isolation,
    pub(crate) cache_dir: PathBuf,
    pub(crate) helper: PathBuf,
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
    /// It has brought a process down while it was loaded.
    Quarantined(Refusal),
}

impl From<Refusal> for NotLoaded {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Runs the steps. Once plugin code runs here, this returns within the deadline of `create`
/// whatever the plugin does.
pub(crate) async fn load(job: Job) -> Result<Instance, NotLoaded> {
    let config = job.config()?;
    let copy = job.copy().await?;
    match job.isolation {
        // The child is its own probe.
        Isolation::Process => {
            let plugin = ProcessPlugin::start(job.recipe(copy, config)).await?;
            Ok(Instance::Process(Arc::new(plugin)))
        }
        Isolation::InProcess => {
            let attempt = job.rehearse(&copy, &config).await?;
            // From here to its drop, the death of this process is put down to the plugin.
            let _mark = sentinel::raise(&job.cache_dir, &job.sha256, attempt).await?;
            job.load_here(copy, config).await.map(|adapter| Instance::InProcess(Arc::new(adapter)))
        }
    }
}

impl Job {
    /// None for a file whose manifest is not known.
    pub(crate) fn new(options: &HostOptions, candidate: &Candidate) -> Option<Self> {
        let Candidate { report, manifest_text, .. } = candidate;
        Some(Self {
            file: report.file.clone(),
            sha256: report.sha256.clone(),
            manifest: report.manifest.clone()?,
            manifest_text: manifest_text.clone(),
            isolation: report.isolation,
            cache_dir: options.cache_dir.clone(),
            helper: options.helper.clone(),
            create: options.create.clone(),
            settings: options.settings.get(&report.name).cloned().unwrap_or_default(),
            deadlines: options.deadlines,
        })
    }

    /// The configuration document: the host's part, and the settings that the manifest knows.
    pub(crate) fn config(&self) -> Result<Vec<u8>, Refusal> {
        let mut config = self.create.clone();
        ABI.clone_into(&mut config.host.abi);
        config.settings = settings(&self.manifest, self.settings.clone())?;
        encode(&config).map_err(|fault| create_refused(fault.message))
    }

    /// Step 6. Without a copy the file is read again: it must be what was looked at.
    pub(crate) async fn copy(&self) -> Result<HeldCopy, Refusal> {
        let cache = Cache::lock(&self.cache_dir).await?;
        let (file, sha256) = (self.file.clone(), self.sha256.clone());
        let find_or_make = move || match cache.find(&sha256)? {
            Some(copy) => Ok(copy),
            None => cache.store(&read_again(&file, &sha256)?),
        };
        let copied = spawn_blocking(find_or_make).await;
        copied.map_err(|_| panicked(Step::Copy))?
    }

    pub(crate) fn spec<'a>(&'a self, copy: &'a HeldCopy) -> Spec<'a> {
        Spec {
            helper: &self.helper,
            copy: &copy.path,
            manifest: &self.manifest_text,
            deadlines: &self.deadlines,
        }
    }

    fn recipe(self, copy: HeldCopy, config: Vec<u8>) -> Recipe {
        Recipe {
            helper: self.helper,
            copy,
            manifest: self.manifest,
            manifest_text: self.manifest_text,
            config,
            deadlines: self.deadlines,
        }
    }

    /// Step 7, or more of it: after a process died while it loaded these bytes, a child runs
    /// everything first, to find out who was to blame. Gives the number of this attempt.
    async fn rehearse(&self, copy: &HeldCopy, config: &[u8]) -> Result<u32, NotLoaded> {
        let name = &self.manifest.name;
        let known = Known::new(&self.cache_dir, &self.sha256, &self.helper);
        let died = match sentinel::left_behind(&self.cache_dir, &self.sha256).await? {
            LeftBehind::Nothing => {
                if !known.is_good() {
                    let probed = probe(&self.spec(copy), name, None).await;
                    probed.map_err(|failure| failure.refusal)?;
                    known.remember();
                }
                return Ok(1);
            }
            LeftBehind::Foreign => {
                return Err(crashed("left a mark that nobody can read"));
            }
            LeftBehind::Attempt(died) if died >= MAX_LOAD_ATTEMPTS_COUNT => {
                return Err(crashed(&format!("for the {MAX_LOAD_ATTEMPTS_COUNT}rd time in a row")));
            }
            LeftBehind::Attempt(died) => died,
        };
        tracing::warn!(
            plugin = %name,
            "a process of scv died while it loaded this plugin; a child tries it first"
        );
        match probe(&self.spec(copy), name, Some(config.to_vec())).await {
            Ok(()) => Ok(died + 1),
            Err(failure) if failure.died => Err(crashed(&format!(
                "and so did the child that tried it: it {}",
                failure.refusal.reason
            ))),
            Err(failure) => Err(failure.refusal.into()),
        }
    }

    /// Steps 8 and 9, on a thread of its own.
    async fn load_here(self, copy: HeldCopy, config: Vec<u8>) -> Result<Adapter, NotLoaded> {
        let Self { manifest, manifest_text, deadlines, .. } = self;
        let (host, raw) = HostSide::new(&manifest.name, Handle::current(), &deadlines);
        let (progress, steps) = mpsc::channel(STEPS);
        thread::Builder::new()
            .name(format!("load-{}", manifest.name))
            .spawn(move || {
                let last = match open_and_create(copy, config, &manifest_text, raw, &progress) {
                    Ok(plugin) => Progress::Created(Box::new(plugin)),
                    Err(refusal) => Progress::Failed(refusal),
                };
                // Nobody listens any more when this came too late; then the plugin is dropped.
                let _ = progress.try_send(last);
            })
            .map_err(|error| no_thread(&error))?;
        let plugin = wait(steps, Instant::now() + deadlines.create).await?;
        Ok(Adapter::new(plugin, manifest, host, deadlines, None))
    }
}

/// What the loading thread says, in this order.
enum Progress {
    Loaded,
    Created(Box<RawPluginBox>),
    Failed(Refusal),
}

/// The loading thread says at most this much, so it never waits for a listener.
const STEPS: usize = 2;

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

fn open_and_create(
    copy: HeldCopy,
    config: Vec<u8>,
    manifest: &str,
    host: RawHostArc,
    progress: &mpsc::Sender<Progress>,
) -> Result<RawPluginBox, Refusal> {
    let module = library::open(copy)?;
    if module.manifest()().as_str() != manifest {
        return Err(other_manifest());
    }
    let _ = progress.try_send(Progress::Loaded);
    let created = module.create()(config.into(), host);
    created.into_result().map_err(|fault| create_failed(&fault))
}

/// Whether the manifest declares each of these settings.
///
/// # Errors
/// The refusal that loading the plugin with them ends with.
pub fn check_settings(manifest: &Manifest, given: &BTreeMap<String, Value>) -> Result<(), Refusal> {
    let known = |name: &String| manifest.settings.iter().any(|setting| setting.name == *name);
    match given.keys().find(|name| !known(name)) {
        None => Ok(()),
        Some(unknown) => Err(Refusal::new(
            Step::Create,
            format!("it has no setting '{unknown}'"),
            format!("remove the key from [plugins.{}.settings]", manifest.name),
        )),
    }
}

fn settings(
    manifest: &Manifest,
    mut given: BTreeMap<String, Value>,
) -> Result<BTreeMap<String, Value>, Refusal> {
    check_settings(manifest, &given)?;
    for setting in &manifest.settings {
        if let Some(default) = &setting.default {
            let value = || Value::from(default.clone());
            given.entry(setting.name.clone()).or_insert_with(value);
        }
    }
    Ok(given)
}

pub(crate) fn other_manifest() -> Refusal {
    Refusal::new(
        Step::Load,
        "the loaded library has another manifest than its file",
        "build the plugin again",
    )
}

pub(crate) fn create_failed(fault: &[u8]) -> Refusal {
    let fault: Fault = decode("a fault", fault).unwrap_or_else(|undecodable| undecodable);
    create_refused(sanitize::fault(fault).message)
}

fn create_refused(reason: impl Into<String>) -> Refusal {
    let fix = "check the plugin's settings, then run `scv reload`";
    Refusal::new(Step::Create, reason, fix)
}

fn crashed(how: &str) -> NotLoaded {
    NotLoaded::Quarantined(Refusal::new(
        Step::Load,
        format!("a process of scv died while it loaded this plugin, {how}"),
        "run `scv plugins check NAME`, then `scv plugins enable NAME`",
    ))
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
