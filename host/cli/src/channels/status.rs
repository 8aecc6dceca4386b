//! `scv channels status`: live health, or what is saved when no daemon runs.

use scv_bridge::{AccountName, Accounts, ChannelId};
use scv_plugin_host::scan;
use scv_protocol::{Component, ComponentState, ControlCommand};
use serde::Serialize;

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
    let channels = match &args.channel {
        Some(name) => Some(names_of(context, &args, name)?),
        None => None,
    };
    let status = context.ask(ControlCommand::Status).await?;
    let (daemon, all) = match status {
        Some(status) => {
            let daemon = Daemon { version: status.version, pid: status.pid };
            (Some(daemon), status.components)
        }
        None => (None, saved(accounts)?),
    };
    let components: Vec<Component> = all
        .into_iter()
        .filter(|c| channels.as_ref().is_none_or(|names| names.contains(&c.channel)))
        .filter(|c| args.account.as_ref().is_none_or(|name| *name == c.account))
        .collect();
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

/// Every spelling of the channel that plugins know.
fn names_of(
    context: &Context,
    args: &ChannelStatusArgs,
    name: &str,
) -> anyhow::Result<Vec<String>> {
    let search = context.search(&args.plugins, &context.config()?);
    let mut spellings = scan(&search).into_iter().map(|plugin| plugin.channels);
    let found = spellings.find(|names| names.iter().any(|known| known == name));
    Ok(found.unwrap_or_else(|| vec![name.to_owned()]))
}

/// Saved accounts, with nothing known about their connection.
fn saved(accounts: &Accounts) -> anyhow::Result<Vec<Component>> {
    let mut components = Vec::new();
    for channel in accounts.unclaimed(&[])? {
        for account in accounts.discover(&channel)? {
            components.push(saved_account(accounts, &channel, &account));
        }
    }
    Ok(components)
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
        error: snapshot.as_ref().err().map(|error| {
            let text = error.to_string();
            text.replace("<channel>", channel.as_str())
        }),
        ..Component::default()
    }
}
