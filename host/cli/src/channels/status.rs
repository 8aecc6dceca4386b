//! `scv channels status`: live health, or what is saved when no daemon runs.

use scv_bridge::{AccountName, Accounts, ChannelId};
use scv_daemon::channel_fault;
use scv_protocol::{Component, ComponentState, ControlCommand};
use serde::Serialize;

use super::known::Known;
use crate::{
    args::ChannelStatusArgs, components::print_components, context::Context, exit::Exit, say,
};

/// What `--json` prints.
#[derive(Serialize)]
struct Shown {
    daemon: Option<Daemon>,
    components: Vec<Component>,
}

#[derive(Serialize)]
struct Daemon {
    version: String,
    pid: u32,
}

pub(super) async fn run(
    context: &Context,
    args: ChannelStatusArgs,
    accounts: &Accounts,
) -> anyhow::Result<Exit> {
    let known = Known::look(context, &args.plugins)?;
    if let Some(name) = &args.channel {
        known.check(context, accounts, name).await?;
    }
    let faults = known.adopt_all(accounts);
    let (daemon, mut components) = match context.ask(ControlCommand::Status).await? {
        Some(status) => {
            let daemon = Daemon { version: status.version, pid: status.pid };
            (Some(daemon), status.components)
        }
        None => (None, saved(accounts)),
    };
    // The daemon has found the same faults, and must not name folders.
    components.retain(|component| faults.iter().all(|fault| fault.id != component.id));
    components.extend(faults);
    let channel = args.channel.as_ref().map(|name| known.id_of(name));
    components.retain(|component| {
        let of_channel = channel.is_none_or(|channel| channel == component.channel);
        let of_account = args.account.as_ref().is_none_or(|name| *name == component.account);
        of_channel && (of_account || is_fault(component))
    });
    if args.json.json {
        say(&serde_json::to_string(&Shown { daemon, components })?);
        return Ok(Exit::Done);
    }
    match daemon {
        Some(Daemon { version, pid }) => say(&format!("daemon {version} runs (pid {pid})")),
        None => say("no daemon runs, so nothing is connected; start it with `scv run`"),
    }
    if components.is_empty() {
        say("no such accounts; connect one with `scv channels login CHANNEL`");
    } else {
        print_components(&components);
    }
    Ok(Exit::Done)
}

/// What stands in the way of a channel concerns each of its accounts.
fn is_fault(component: &Component) -> bool {
    component.id == channel_fault(&component.channel, String::new()).id
}

/// Saved accounts, with nothing known about their connection.
fn saved(accounts: &Accounts) -> Vec<Component> {
    match accounts.unclaimed(&[]) {
        Ok(channels) => channels.iter().flat_map(|id| saved_channel(accounts, id)).collect(),
        Err(error) => vec![channel_fault("channels", error.to_string())],
    }
}

fn saved_channel(accounts: &Accounts, channel: &ChannelId) -> Vec<Component> {
    match accounts.discover(channel) {
        Ok(names) => names.iter().map(|name| saved_account(accounts, channel, name)).collect(),
        Err(error) => {
            vec![channel_fault(channel.as_str(), error.to_string())]
        }
    }
}

fn saved_account(accounts: &Accounts, channel: &ChannelId, account: &AccountName) -> Component {
    let snapshot = accounts.snapshot(channel, account);
    let settings = match &snapshot {
        Ok(Some(snapshot)) => Some(&snapshot.settings),
        Ok(None) | Err(_) => None,
    };
    Component {
        id: format!("{channel}:{account}"),
        channel: channel.to_string(),
        account: account.to_string(),
        enabled: settings.is_none_or(|settings| settings.enabled),
        state: ComponentState::Unknown,
        remote_tools: settings.map(|settings| settings.remote_tools).unwrap_or_default(),
        error: snapshot.as_ref().err().map(|error| error.to_string()),
        ..Component::default()
    }
}
