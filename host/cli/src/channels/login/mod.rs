//! `scv channels login`: signs an account in with its plugin, in this process.

mod options;
mod ui;

use std::{sync::Arc, time::Duration};

use anyhow::anyhow;
use scv_bridge::{
    AccountArgs, AccountName, Accounts, ChannelId,
    accounts::{retry_busy, store_login},
};
use scv_daemon::{PluginsConfig, import_single_file, plugin_options, prepare_home};
use scv_plugin_api::wire::{Identity, LoginRequest, LoginResult};
use scv_plugin_host::{LoadedChannel, PluginHost, PluginReport, PluginState, SearchPath, scan};
use scv_protocol::{Component, ControlCommand};

use super::{
    args::{ChannelAndOptions, LoginArgs},
    known::{adopt, no_channel},
};
use crate::{
    context::Context,
    exit::{self, Exit},
    limits::PLUGIN_SHUTDOWN_MS,
    say,
    signals::Signals,
    terminal::harmless,
};
use options::Given;

const NO_CHANNEL: &str = "name a channel; `scv plugins list` shows them";

pub(super) async fn run(
    context: &Context,
    args: LoginArgs,
    accounts: &Accounts,
) -> anyhow::Result<Exit> {
    let Some(ChannelAndOptions::Words(words)) = args.channel else {
        return Err(exit::usage(NO_CHANNEL));
    };
    let (name, words) = words.split_first().ok_or_else(|| exit::usage(NO_CHANNEL))?;
    let name = name.to_string_lossy().into_owned();
    let config = context.plugins_config()?;
    let search = context.search(&args.plugins, &config)?;
    prepare_home(&context.home)?;
    let host = load(context, search, &config, &name).await;
    let exit = match host.find_channel(&name) {
        Some(channel) => with_channel(context, accounts, &channel, name, words).await,
        None => Err(refusal(&host.reports(), &name)),
    };
    host.shutdown(Duration::from_millis(PLUGIN_SHUTDOWN_MS)).await;
    exit
}

/// Loads the one plugin that claims the channel, so that no other one can disturb.
async fn load(
    context: &Context,
    search: SearchPath,
    config: &PluginsConfig,
    name: &str,
) -> Arc<PluginHost> {
    // A file of the same plugin in a later folder claims nothing and is no other plugin.
    let (claiming, others): (Vec<_>, Vec<_>) = scan(&search, &config.policy())
        .into_iter()
        .partition(|plugin| plugin.channels.iter().any(|channel| channel == name));
    let mut options = plugin_options(&context.home, search, config);
    let others = others.into_iter().map(|plugin| plugin.name);
    options
        .policy
        .disabled
        .extend(others.filter(|name| claiming.iter().all(|one| one.name != *name)));
    let host = PluginHost::new(options);
    host.load_all().await;
    host
}

/// Why no plugin serves the channel.
fn refusal(reports: &[PluginReport], name: &str) -> anyhow::Error {
    let claims = |report: &&PluginReport| report.channels.iter().any(|channel| channel == name);
    match reports.iter().find(claims) {
        Some(PluginReport {
            state: PluginState::Disabled, name, refusal: Some(refusal), ..
        }) => {
            anyhow!("the plugin '{name}' is off: {}; {}", refusal.reason, refusal.fix)
        }
        Some(PluginReport { refusal: Some(refusal), .. }) => {
            anyhow!("the plugin of this channel cannot be used: {refusal}")
        }
        _ => no_channel(name),
    }
}

async fn with_channel(
    context: &Context,
    accounts: &Accounts,
    channel: &LoadedChannel,
    name: String,
    words: &[std::ffi::OsString],
) -> anyhow::Result<Exit> {
    let given = match options::parse(&channel.manifest, &name, words) {
        Ok(given) => given,
        Err(error) => return Ok(crate::shown(&error)),
    };
    let id = ChannelId::new(channel.manifest.id.as_str())?;
    adopt_legacy(accounts, channel, &id).await?;
    accounts.may_sign_in(&id, &given.account, channel.manifest.relogin)?;
    let mut signals = Signals::catch()?;
    let sign_in = sign_in(context, accounts, channel, name, given);
    tokio::select! {
        done = sign_in => done,
        () = signals.end() => {
            crate::complain("cancelled; nothing was saved");
            Ok(Exit::Cancelled)
        }
    }
}

async fn sign_in(
    context: &Context,
    accounts: &Accounts,
    channel: &LoadedChannel,
    name: String,
    given: Given,
) -> anyhow::Result<Exit> {
    let id = ChannelId::new(channel.manifest.id.as_str())?;
    let saved = retry_busy(|| accounts.read_saved(&id, &given.account)).await;
    let request = LoginRequest {
        login_id: format!("login-{}", std::process::id()),
        channel: channel.manifest.id.clone(),
        called_as: name,
        account: given.account.to_string(),
        options: options::with_secrets(&channel.manifest, given.values).await?,
        saved: saved?.map(|saved| saved.credentials),
    };
    let ui = Arc::new(ui::Terminal::new(context.global.color));
    let result = channel.transport.login(request, ui).await;
    let (credentials, summary) =
        match result.map_err(|fault| anyhow!("{}", harmless(&fault.message)))? {
            LoginResult::Unchanged { summary } => {
                say(&harmless(&summary));
                return Ok(Exit::Done);
            }
            LoginResult::SignedIn { credentials, summary } => (credentials, summary),
        };
    let transport = &*channel.transport;
    let identity = store_login(accounts, transport, &channel.manifest, &given.account, credentials)
        .await
        .map_err(|error| anyhow!("{}", harmless(&error.to_string())))?;
    say(&harmless(&summary));
    next_steps(context, &id, &given.account, &identity).await?;
    Ok(Exit::Done)
}

/// Asks a running daemon to start the account, and says what a person does now.
async fn next_steps(
    context: &Context,
    id: &ChannelId,
    account: &AccountName,
    identity: &Identity,
) -> anyhow::Result<()> {
    let args = AccountArgs { channel: id.clone(), account: account.clone() };
    // Credentials are saved: a daemon that does not answer finds them by itself.
    match context.ask(ControlCommand::Reload).await {
        Ok(Some(status)) => {
            let of_account =
                |c: &&Component| c.channel == id.as_str() && c.account == account.as_str();
            match status.components.iter().find(of_account) {
                Some(component) if !component.enabled => say(&format!(
                    "This account is switched off; `scv channels run {args}` switches it on."
                )),
                _ => say(&format!(
                    "The daemon starts it now; `scv channels status {args}` shows how it is."
                )),
            }
        }
        _ => say("Start the daemon with `scv run`, then write to the bot."),
    }
    if identity.owner_id.is_some() {
        say(&format!(
            "To let your own messages use tools: scv channels run {args} --workspace PATH --remote-tools owner"
        ));
    } else {
        say("No owner is known, so nobody can be granted tools.");
    }
    Ok(())
}

/// Brings along what an older release saved, so that it is not signed over.
async fn adopt_legacy(
    accounts: &Accounts,
    channel: &LoadedChannel,
    id: &ChannelId,
) -> anyhow::Result<()> {
    let migration = adopt(accounts, &channel.manifest)?;
    if let Some(text) = migration.and_then(|migration| migration.single_file) {
        import_single_file(accounts, channel, id, text).await.map_err(|problem| {
            anyhow!("credentials of an older release were not taken over: {problem}")
        })?;
    }
    Ok(())
}
