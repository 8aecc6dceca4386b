//! Components over real files, a channel in memory, and the real bridge.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use scv_bridge::{AccountName, Home, SettingsChange, fs::RealFileSystem};
use scv_plugin_api::wire::{Fault, Identity, Manifest};
use scv_plugin_host::{
    Claim, HostOptions, LoadedChannel, Refusal, SearchOptions, SearchPath, Step, fake::Fake,
};
use scv_protocol::{ClientInfo, ControlCommand, RemoteTools};

use super::*;
use crate::{Config, InProcess, sessions::Sessions};

struct World {
    home: tempfile::TempDir,
    pigeon: Fake,
    components: Arc<Components>,
}

fn manifest() -> Manifest {
    serde_json::from_value(serde_json::json!({
        "scv_plugin": 1, "abi": "1.0", "name": "pigeon", "version": "1.2.3",
        "channels": [{
            "id": "pigeon", "title": "Pigeon Post", "aliases": ["dove"],
            "limits": {"max_message_bytes": 100, "max_wait_ms": 1000},
        }],
    }))
    .unwrap()
}

/// Components on this home, with nothing loaded.
pub(crate) fn components(home: &Path) -> Arc<Components> {
    let sessions = Sessions::new(Config::default()).unwrap();
    let info = ClientInfo { name: "bridge".into(), version: "0".into() };
    let tasks = TaskTracker::new();
    let dialer = InProcess::new(sessions, info, tasks.clone(), CancellationToken::new());
    let accounts = Accounts::new(Home::new(home), Arc::new(RealFileSystem));
    let components = Components::new(Parts {
        accounts: Arc::new(accounts),
        plugins: PluginHost::new(HostOptions::default()),
        no_plugins: true,
        dialer: Arc::new(dialer),
        workspace: home.to_owned(),
        owner_turn_limit: Duration::from_secs(1800),
        logs: crate::LogRing::default(),
        tasks,
    });
    components.complete.send_replace(true);
    components
}

impl World {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let components = components(home.path());
        let pigeon = Fake::new(manifest());
        pigeon.identify(identity());
        Self { home, pigeon, components }
    }

    fn channel(&self) -> LoadedChannel {
        let manifest = manifest();
        LoadedChannel {
            manifest: manifest.channels[0].clone(),
            plugin: manifest.name,
            version: manifest.version,
            sha256: "7".repeat(64),
            isolation: scv_plugin_host::Isolation::InProcess,
            transport: Arc::new(self.pigeon.clone()),
        }
    }

    fn sign_in(&self, account: &str, credentials: &str) {
        let dir = self.home.path().join("channels/pigeon/accounts");
        fs::create_dir_all(&dir).unwrap();
        for dir in [&dir, dir.parent().unwrap(), dir.parent().unwrap().parent().unwrap()] {
            private(dir, 0o700);
        }
        let file = dir.join(format!("{account}.json"));
        fs::write(&file, credentials).unwrap();
        private(&file, 0o600);
    }

    fn set(&self, account: &str, change: SettingsChange) {
        let account = AccountName::new(account).unwrap();
        let accounts = &self.components.parts.accounts;
        let set = || accounts.set(&pigeon_id(), &account, change.clone());
        // A running bridge may be saving.
        while set().is_err_and(|error| error.is_busy()) {}
    }

    /// One pass with the channel loaded.
    async fn pass(&self) {
        self.pass_with(vec![self.channel()], &[]).await;
    }

    async fn pass_with(&self, channels: Vec<LoadedChannel>, claims: &[Claim]) {
        let survey = survey::survey(&self.components.parts.accounts, channels, claims, true);
        self.components.change().await.apply(survey).await;
    }

    fn component(&self, id: &str) -> Option<Component> {
        let status = self.components.status();
        status.components.into_iter().find(|component| component.id == id)
    }

    /// Waits until an account is as expected.
    async fn until(&self, id: &str, holds: impl Fn(&Component) -> bool) -> Component {
        loop {
            if let Some(component) = self.component(id).filter(&holds) {
                return component;
            }
            tokio::task::yield_now().await;
        }
    }

    async fn until_state(&self, id: &str, state: ComponentState) -> Component {
        self.until(id, |component| component.state == state).await
    }
}

fn pigeon_id() -> ChannelId {
    ChannelId::new("pigeon").unwrap()
}

fn identity() -> Identity {
    Identity {
        bot_id: Some("bot-7".into()),
        owner_id: Some("owner-7".into()),
        display: None,
        fingerprint: vec![Some("ring-7".to_owned().into())],
    }
}

fn private(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn a_signed_in_account_runs_and_names_its_bot_and_plugin() {
    let world = World::new();
    world.sign_in("default", r#"{"ring":"secret-ring"}"#);
    world.pass().await;
    let account = world.until_state("pigeon:default", ComponentState::Connected).await;
    assert_eq!(account.bot_id.as_deref(), Some("bot-7"));
    assert_eq!(account.user_id.as_deref(), Some("owner-7"));
    assert_eq!(account.plugin_version.as_deref(), Some("1.2.3"));
    assert!(account.last_success_unix_seconds.is_some());
    assert_eq!(account.remote_tools, RemoteTools::None);
    assert!(!format!("{account:?}").contains("secret-ring"));

    world.pass().await;
    assert_eq!(world.pigeon.connected().len(), 1, "an unchanged account is left alone");
    world.components.shutdown().await;
    assert_eq!(world.components.status().components, []);
}

#[tokio::test]
async fn changed_settings_replace_and_disabled_rests() {
    let world = World::new();
    world.sign_in("default", "{}");
    world.pass().await;
    world.until_state("pigeon:default", ComponentState::Connected).await;
    world.set(
        "default",
        SettingsChange { remote_tools: Some(RemoteTools::Owner), ..SettingsChange::default() },
    );
    world.pass().await;
    let granted = world.until("pigeon:default", |c| c.remote_tools == RemoteTools::Owner).await;
    assert_eq!(granted.restarts, 0, "a replacement is no restart");
    world.until_state("pigeon:default", ComponentState::Connected).await;
    assert_eq!(world.pigeon.connected().len(), 2);

    world.set("default", SettingsChange { enabled: Some(false), ..SettingsChange::default() });
    world.pass().await;
    let resting = world.until("pigeon:default", |c| c.bot_id.is_some()).await;
    assert_eq!(resting.state, ComponentState::Disabled);
    assert!(!resting.enabled);
    world.components.shutdown().await;
}

#[tokio::test]
async fn a_signed_out_account_says_so_and_comes_back_with_new_credentials() {
    let world = World::new();
    world.pigeon.refuse_connect(Fault::auth("the ring is gone"));
    world.sign_in("default", r#"{"ring":1}"#);
    world.pass().await;
    let account = world.until_state("pigeon:default", ComponentState::Failed).await;
    assert_eq!(account.signed_out, Some(true));
    let told = "signed out; run `scv channels login pigeon`";
    assert_eq!(
        (account.error.as_deref(), account.hint.as_deref()),
        (Some(told), Some("run `scv channels login pigeon`"))
    );

    world.sign_in("default", r#"{"ring":2}"#);
    world.pass().await;
    let back = world.until_state("pigeon:default", ComponentState::Connected).await;
    assert_eq!(back.signed_out, None);
    world.components.shutdown().await;
}

#[tokio::test]
async fn a_reload_tries_a_signed_out_account_at_once() {
    let world = World::new();
    world.pigeon.refuse_connect(Fault::auth("not yet"));
    world.sign_in("default", "{}");
    world.pass().await;
    world.until_state("pigeon:default", ComponentState::Failed).await;
    loop {
        // Only an account that waits already can be woken.
        world.components.change().await.poke();
        let state = world.component("pigeon:default").unwrap().state;
        if state == ComponentState::Connected {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(world.component("pigeon:default").unwrap().restarts, 1);
    world.components.shutdown().await;
}

#[tokio::test]
async fn one_accounts_damage_stays_its_own() {
    let world = World::new();
    world.sign_in("broken", "{\"ring\":");
    world.sign_in("default", "{}");
    world.pass().await;
    world.until_state("pigeon:default", ComponentState::Connected).await;
    let broken = world.component("pigeon:broken").unwrap();
    assert_eq!(broken.state, ComponentState::Failed);
    assert!(broken.error.as_ref().unwrap().contains("damaged"), "{broken:?}");
    let file = world.home.path().join("channels/pigeon/accounts/broken.json");
    assert_eq!(fs::read(file).unwrap(), b"{\"ring\":");
    world.components.shutdown().await;
}

#[tokio::test]
async fn of_two_with_the_same_bot_the_first_runs_and_then_the_other() {
    let world = World::new();
    world.sign_in("second", r#"{"ring":1}"#);
    world.sign_in("first", r#"{"ring":1}"#);
    world.pass().await;
    world.until_state("pigeon:first", ComponentState::Connected).await;
    let second = world.until_state("pigeon:second", ComponentState::Failed).await;
    assert!(second.error.unwrap().contains("same bot as account first"));

    let file = world.home.path().join("channels/pigeon/accounts/first.json");
    fs::remove_file(file).unwrap();
    world.pass().await;
    world.until_state("pigeon:second", ComponentState::Connected).await;
    world.components.shutdown().await;
}

#[tokio::test]
async fn a_refused_plugin_and_a_bad_folder_are_faults_of_their_channel() {
    let world = World::new();
    world.sign_in("default", "{}");
    let claim = Claim {
        channel: "pigeon".into(),
        plugin: "pigeon".into(),
        refusal: Refusal::new(Step::Create, "secret reason", "secret fix"),
    };
    world.pass_with(Vec::new(), &[claim]).await;
    let fault = world.component("pigeon:discovery-error").unwrap();
    assert_eq!(
        fault.error.unwrap(),
        "the plugin of this channel was refused at the step `create`; see `scv plugins list`"
    );
    assert_eq!(world.component("pigeon:default").unwrap().state, ComponentState::Stopped);

    world.sign_in("no name!", "{}");
    world.pass().await;
    let fault = world.component("pigeon:discovery-error").unwrap();
    assert_eq!(fault.state, ComponentState::Failed);
    assert_eq!(world.component("pigeon:default"), None, "its accounts are stopped");
}

#[tokio::test]
async fn an_account_that_was_removed_is_gone() {
    let world = World::new();
    world.sign_in("default", "{}");
    world.pass().await;
    world.until_state("pigeon:default", ComponentState::Connected).await;
    let file = world.home.path().join("channels/pigeon/accounts/default.json");
    fs::remove_file(file).unwrap();
    world.pass().await;
    assert_eq!(world.component("pigeon:default"), None);
}

#[tokio::test]
async fn nothing_starts_once_the_daemon_ends() {
    let world = World::new();
    world.sign_in("default", "{}");
    world.components.shutdown().await;
    world.pass().await;
    assert_eq!(world.components.status().components, []);
    assert!(world.pigeon.connected().is_empty());
}

#[tokio::test]
async fn status_never_waits_for_a_change() {
    let world = World::new();
    let watch = Arc::clone(&world.components).watch(CancellationToken::new());
    let watch = tokio::spawn(watch);
    world.components.until_complete().await;
    let changing = world.components.change().await;
    let reload = Arc::clone(&world.components);
    let reload = tokio::spawn(async move { reload.control(ControlCommand::Reload, 3).await });
    tokio::task::yield_now().await;
    world.components.control(ControlCommand::Status, 3).await.unwrap();
    assert!(!reload.is_finished(), "a change waits for the one before");
    drop(changing);
    reload.await.unwrap().unwrap();
    watch.abort();
}

#[tokio::test]
async fn a_task_that_ended_is_noticed_and_started_again() {
    let world = World::new();
    world.sign_in("default", "{}");
    world.pass().await;
    world.until_state("pigeon:default", ComponentState::Connected).await;
    let key = Key { channel: "pigeon".into(), account: "default".into() };
    let end = |entry: &mut Entry| {
        let entry::Body::Running(task) = &entry.body else {
            panic!("it runs");
        };
        let handle = task.handle.as_ref().unwrap();
        handle.abort();
        handle.is_finished()
    };
    while !world.components.table().entries.get_mut(&key).is_some_and(end) {
        tokio::task::yield_now().await;
    }
    world.components.table().entries.get_mut(&key).unwrap().notice(&key);
    let ended = world.component("pigeon:default").unwrap();
    assert_eq!(ended.state, ComponentState::Backoff);
    assert!(ended.error.unwrap().contains("starts again"));

    world.pass().await;
    world.until_state("pigeon:default", ComponentState::Connected).await;
    assert_eq!(world.pigeon.connected().len(), 2);
    world.components.shutdown().await;
}

/// A socket cannot be opened as a file, which is a refusal of the system like a full disk.
#[tokio::test(start_paused = true)]
async fn a_refusal_that_may_pass_is_tried_again_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("libscv_channel_pigeon.so");
    drop(std::os::unix::net::UnixListener::bind(&file).unwrap());
    let cli_dirs = vec![dir.path().to_owned()];
    let search = SearchPath::resolve(SearchOptions { cli_dirs, ..SearchOptions::default() });
    let plugins = PluginHost::new(HostOptions {
        search,
        cache_dir: dir.path().join("cache"),
        ..HostOptions::default()
    });
    let world = World::new();
    let tasks = TaskTracker::new();
    let parts = Parts {
        plugins: Arc::clone(&plugins),
        no_plugins: false,
        accounts: Arc::clone(&world.components.parts.accounts),
        dialer: Arc::clone(&world.components.parts.dialer),
        workspace: dir.path().to_owned(),
        owner_turn_limit: Duration::from_secs(1),
        logs: crate::LogRing::default(),
        tasks,
    };
    let components = Components::new(parts);
    let mut changes = plugins.changes();
    let began = Instant::now();
    let watch = tokio::spawn(Arc::clone(&components).watch(CancellationToken::new()));
    assert!(components.until_complete().await);
    let step = || plugins.reports()[0].refusal.as_ref().map(|refusal| refusal.step);
    assert_eq!(step(), Some(Step::Read));

    fs::remove_file(&file).unwrap();
    fs::write(&file, "no library").unwrap();
    private(&file, 0o600);
    while step() == Some(Step::Read) {
        changes.changed().await.unwrap();
    }
    assert_eq!(step(), Some(Step::Inspect));
    assert!(began.elapsed() >= Duration::from_millis(PLUGINS_RETRY_MS));
    watch.abort();
}

#[tokio::test]
async fn what_is_served_is_told_with_what_to_do_next() {
    let world = World::new();
    let channels = [world.channel()];
    let next = |channels: &[LoadedChannel], no_plugins| {
        serving(channels, &world.components.status().components, no_plugins).next
    };
    assert!(next(&[], true).unwrap().contains("--no-plugins"));
    assert!(next(&[], false).unwrap().contains("scv plugins list"));
    assert!(next(&channels, false).unwrap().contains("scv channels login pigeon"));

    world.sign_in("default", "{}");
    world.pass().await;
    let told = serving(&channels, &world.components.status().components, false);
    assert_eq!(
        (told.plugins.as_str(), told.accounts.as_str(), told.next),
        ("pigeon 1.2.3", "pigeon:default", None)
    );
    world.set("default", SettingsChange { enabled: Some(false), ..SettingsChange::default() });
    world.pass().await;
    assert!(next(&channels, false).unwrap().contains("scv channels run"));
    world.components.shutdown().await;
}
