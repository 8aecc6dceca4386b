//! Before a run: locks, identity, state. Nothing is written before it is known whose state it is.

use std::{sync::Arc, time::Duration};

use scv_plugin_api::wire::{Fault, FaultKind, Identity, InspectRequest};
use scv_protocol::RemoteTools;
use tokio::{
    task::{JoinSet, spawn_blocking},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use super::{
    AccountContext, Run, RunError, RunErrorKind,
    asking::Asking,
    ids,
    link::Link,
    report::{self, Reporter},
    storing::Storing,
};
use crate::{
    AccountArgs, ChannelId, Health,
    accounts::{effective_tools, fingerprint},
    conversation::{Sessions, Settings},
    limits::SAME_BOT_PAUSE_MS,
    machine::{Config, Machine},
    store::{self, Opened},
};

/// Prepares a run; `None` when `stop` came first.
pub(super) async fn start(
    context: AccountContext,
    health: Arc<Health>,
    stop: &CancellationToken,
) -> Result<Option<Run>, RunError> {
    let ticket = context.ticket.clone();
    let _asking = ticket.asking();
    let channel = ChannelId::new(context.channel.id.as_str());
    let channel = channel.map_err(|error| RunError::new(RunErrorKind::Failed, error))?;
    let args = AccountArgs::new(&channel, &context.account);
    let clock = Arc::clone(&context.clock);
    let reporter = Reporter::new(health, clock, args, context.channel.receipts);
    reporter.starting();
    let lifetime = context.accounts.lifetime(&channel, &context.account);
    let lifetime = lifetime.map_err(|error| report::not_locked(&error))?;
    let asked = tokio::select! {
        asked = ask_whose(&context, &reporter) => asked,
        () = stop.cancelled() => return Ok(None),
    };
    let (identity, tools, bot) = asked.map_err(|fault| not_inspected(&reporter, &fault))?;
    let (accounts, account) = (Arc::clone(&context.accounts), context.account.clone());
    let opened = spawn_blocking(move || store::open(&accounts, &channel, &account, lifetime, &bot));
    let opened = opened.await.map_err(|_| report::inconsistent())?;
    let Opened { state, log, was_torn } = opened.map_err(|error| report::store_failed(&error))?;
    if was_torn {
        tracing::warn!(
            channel = context.channel.id,
            account = %context.account,
            "the last commit before the previous end was cut off; it was left out"
        );
    }
    reporter.remembers(&state);
    let settings = Settings {
        dialer: Arc::clone(&context.dialer),
        workspace: context.workspace.clone(),
        owner_turn_limit: context.owner_turn_limit,
    };
    Ok(Some(Run {
        machine: Machine::new(config(&context, identity, tools)),
        state,
        storing: Storing::new(log),
        asking: Asking::new(context.desk.open()),
        sessions: Sessions::new(settings),
        link: Link::new(),
        tasks: JoinSet::new(),
        timers: std::collections::HashMap::new(),
        context,
        reporter,
    }))
}

/// Learns whose bot this is, and waits while another account runs as it.
async fn ask_whose(
    context: &AccountContext,
    reporter: &Reporter,
) -> Result<(Identity, RemoteTools, String), Fault> {
    let identity = inspect(context).await?;
    let tools =
        effective_tools(context.snapshot.settings.remote_tools, identity.owner_id.as_deref());
    reporter.identity(&identity, tools);
    let bot = fingerprint(&identity);
    while let Err(other) = context.ticket.take(&bot).await {
        reporter.same_bot(&other);
        context.ticket.until_free(&bot).await;
        // An account whose settings changed is replaced: it has a moment to come back.
        sleep(Duration::from_millis(SAME_BOT_PAUSE_MS)).await;
        reporter.starting();
    }
    Ok((identity, tools, bot))
}

async fn inspect(context: &AccountContext) -> Result<Identity, Fault> {
    let request = InspectRequest {
        channel: context.channel.id.clone(),
        account: context.account.to_string(),
        credentials: context.snapshot.credentials.clone(),
    };
    context.transport.inspect(request).await
}

fn config(context: &AccountContext, identity: Identity, tools: RemoteTools) -> Config {
    let limits = &context.channel.limits;
    Config {
        max_message_bytes: limits.max_message_bytes as usize,
        sends_per_reply: limits.sends_per_reply,
        unprompted: context.channel.unprompted,
        owner: identity.owner_id,
        owner_has_tools: tools == RemoteTools::Owner,
        senders: context.snapshot.settings.senders,
        new_id: Box::new(ids::uuid),
    }
}

fn not_inspected(reporter: &Reporter, fault: &Fault) -> RunError {
    match fault.kind {
        FaultKind::Auth => reporter.signed_out(),
        FaultKind::Config => report::refused(fault),
        _ => RunError::new(RunErrorKind::Retry, &fault.message),
    }
}
