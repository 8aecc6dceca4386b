//! `scv channels status`: live health, or what is saved when no daemon runs.

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use scv_bridge::{AccountName, Accounts, ChannelId, Clock, SystemClock};
use scv_daemon::channel_fault;
use scv_protocol::{Component, ComponentState, ControlCommand};
use serde::Serialize;

use super::{account::describe, args::ChannelStatusArgs, known::Known};
use crate::{context::Context, exit::Exit, limits::WATCH_STEP_MS, say, stdout, terminal::harmless};

/// What `--json` prints.
#[derive(PartialEq, Serialize)]
struct Shown {
    daemon: Option<Daemon>,
    components: Vec<Component>,
}

#[derive(PartialEq, Serialize)]
struct Daemon {
    version: String,
    pid: u32,
}

/// Clears a terminal and goes to its upper left corner.
const CLEAR: &str = "\u{1b}[2J\u{1b}[H";

pub(super) async fn run(
    context: &Context,
    args: ChannelStatusArgs,
    accounts: &Accounts,
) -> anyhow::Result<Exit> {
    let known = Known::look(context, &args.plugins)?;
    if let Some(name) = &args.channel {
        known.check(context, accounts, name).await?;
    }
    if args.watch {
        return watch(context, &args, &known, accounts).await;
    }
    print(&look(context, &args, &known, accounts).await?, &args)?;
    Ok(Exit::Done)
}

/// Shows it again whenever it changes, until a signal or a reader that has seen enough. A person
/// at a terminal sees one picture, whose ages go on.
async fn watch(
    context: &Context,
    args: &ChannelStatusArgs,
    known: &Known,
    accounts: &Accounts,
) -> anyhow::Result<Exit> {
    let is_picture = !args.json.json && io::stdout().is_terminal();
    let mut last = None;
    loop {
        let shown = look(context, args, known, accounts).await?;
        if is_picture {
            stdout::write(CLEAR.as_bytes())?;
        }
        if is_picture || last.as_ref() != Some(&shown) {
            print(&shown, args)?;
        }
        stdout::check()?;
        last = Some(shown);
        tokio::time::sleep(Duration::from_millis(WATCH_STEP_MS)).await;
    }
}

async fn look(
    context: &Context,
    args: &ChannelStatusArgs,
    known: &Known,
    accounts: &Accounts,
) -> anyhow::Result<Shown> {
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
    Ok(Shown { daemon, components })
}

fn print(shown: &Shown, args: &ChannelStatusArgs) -> anyhow::Result<()> {
    if args.json.json {
        say(&serde_json::to_string(shown)?);
        return Ok(());
    }
    match &shown.daemon {
        Some(Daemon { version, pid }) => say(&format!("daemon {version} runs (pid {pid})")),
        None => say("no daemon runs, so nothing is connected; start it with `scv run`"),
    }
    if shown.components.is_empty() {
        say(&nobody(args));
    }
    let now = SystemClock.unix_ms() / 1_000;
    for component in &shown.components {
        say("");
        say(&harmless(&describe(component, now)));
    }
    Ok(())
}

/// Nothing of what was asked for is signed in.
fn nobody(args: &ChannelStatusArgs) -> String {
    let channel = args.channel.as_deref().unwrap_or("CHANNEL");
    match &args.account {
        Some(name) => format!(
            "no account '{name}' is signed in; `scv channels status` shows those that are, `scv channels login {channel} --account {name}` adds it"
        ),
        None => format!("no account is signed in; connect one with `scv channels login {channel}`"),
    }
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
