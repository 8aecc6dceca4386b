//! `run`, `stop` and `logout`: changes that a live daemon makes.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use scv_bridge::Accounts;
use scv_protocol::{Component, ComponentState, ControlCommand, DaemonStatus, RemoteTools, Senders};

use super::{
    args::{self, AccountArgs, ChannelRunArgs},
    known::Known,
};
use crate::{
    args::PluginDirs,
    components::print_components,
    context::Context,
    exit::Exit,
    limits::{GRANT_STEP_MS, GRANT_WAIT_MS},
    say,
};

pub(super) async fn run(
    context: &Context,
    args: ChannelRunArgs,
    accounts: &Accounts,
) -> anyhow::Result<Exit> {
    let known = prepare(context, accounts, &args.account).await?;
    let workspace = args.workspace.map(|path| {
        path.canonicalize().with_context(|| {
            format!("the workspace {} cannot be opened; name another folder", path.display())
        })
    });
    let status = context
        .demand(ControlCommand::ChannelSet {
            channel: args.account.channel.clone(),
            account: args.account.account.name.clone(),
            enabled: true,
            workspace: workspace.transpose()?,
            remote_tools: args.remote_tools.map(RemoteTools::from),
            senders: args.senders.map(Senders::from),
        })
        .await?;
    say("switched on");
    let wants = args.remote_tools.map(RemoteTools::from);
    let account = match wants {
        Some(RemoteTools::Owner) => granted(context, status, &args.account).await?,
        Some(RemoteTools::None) | None => account_of(&status, &args.account),
    };
    print_components(&account);
    if wants == Some(RemoteTools::Owner) && !has_grant(&account) {
        let fix = known.naming_owner(&args.account);
        let fix = fix.unwrap_or_else(|| "see `scv channels status`".to_owned());
        crate::complain(&format!(
            "warning: the daemon does not know this account's owner, so nobody is granted tools yet; {fix}"
        ));
    }
    Ok(Exit::Done)
}

/// Waits a moment for the grant: the account names its owner only once it has started.
async fn granted(
    context: &Context,
    mut status: DaemonStatus,
    args: &AccountArgs,
) -> anyhow::Result<Vec<Component>> {
    let deadline = Instant::now() + Duration::from_millis(GRANT_WAIT_MS);
    loop {
        let account = account_of(&status, args);
        let started = account.iter().all(|a| a.state != ComponentState::Starting);
        if has_grant(&account) || started || Instant::now() > deadline {
            return Ok(account);
        }
        tokio::time::sleep(Duration::from_millis(GRANT_STEP_MS)).await;
        status = context.demand(ControlCommand::Status).await?;
    }
}

fn has_grant(account: &[Component]) -> bool {
    account.iter().any(|component| component.remote_tools == RemoteTools::Owner)
}

pub(super) async fn stop(
    context: &Context,
    args: AccountArgs,
    accounts: &Accounts,
) -> anyhow::Result<Exit> {
    prepare(context, accounts, &args).await?;
    let off = ControlCommand::ChannelSet {
        channel: args.channel.clone(),
        account: args.account.name.clone(),
        enabled: false,
        workspace: None,
        remote_tools: None,
        senders: None,
    };
    let status = context.demand(off).await?;
    say("switched off; it stays signed in");
    print_components(&account_of(&status, &args));
    Ok(Exit::Done)
}

pub(super) async fn logout(
    context: &Context,
    args: AccountArgs,
    accounts: &Accounts,
) -> anyhow::Result<Exit> {
    prepare(context, accounts, &args).await?;
    let logout = ControlCommand::ChannelLogout {
        channel: args.channel.clone(),
        account: args.account.name.clone(),
    };
    context.demand(logout).await?;
    say("signed out; credentials, settings and undelivered replies of this account are removed");
    Ok(Exit::Done)
}

/// Looks whether there is such a channel, and moves what an older release kept of it, so that
/// the daemon finds it.
pub(super) async fn prepare(
    context: &Context,
    accounts: &Accounts,
    args: &AccountArgs,
) -> anyhow::Result<Known> {
    // An account must be stoppable although the configuration cannot be read; then its files
    // are moved by the daemon alone.
    let Ok(known) = Known::look(context, &PluginDirs::default()) else {
        return Ok(Known::default());
    };
    known.check(context, accounts, &args.channel).await?;
    known.adopt(accounts, &args.channel)?;
    Ok(known)
}

/// The account as status shows it. An alias of the channel finds none by its id, so then all
/// accounts of the name are shown.
fn account_of(status: &DaemonStatus, args: &AccountArgs) -> Vec<Component> {
    let named = |component: &&Component| component.account == args.account.name;
    let of_name: Vec<_> = status.components.iter().filter(named).cloned().collect();
    let of_channel = of_name.iter().filter(|c| c.channel == args.channel);
    match of_channel.cloned().collect::<Vec<_>>() {
        none if none.is_empty() => of_name,
        of_channel => of_channel,
    }
}

impl From<args::RemoteTools> for RemoteTools {
    fn from(who: args::RemoteTools) -> Self {
        match who {
            args::RemoteTools::None => Self::None,
            args::RemoteTools::Owner => Self::Owner,
        }
    }
}

impl From<args::Senders> for Senders {
    fn from(who: args::Senders) -> Self {
        match who {
            args::Senders::Everyone => Self::Everyone,
            args::Senders::Owner => Self::Owner,
        }
    }
}
