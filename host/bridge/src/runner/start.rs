//! Before a run: locks, identity, state. Nothing is written before it is known whose state it is.

use std::sync::Arc;

use scv_plugin_api::wire::{Fault, FaultKind, Identity, InspectRequest};
use scv_protocol::RemoteTools;
use tokio::task::{JoinSet, spawn_blocking};
use tokio_util::sync::CancellationToken;

use super::{
    AccountContext, Run, RunError, RunErrorKind, ids,
    link::Link,
    report::{self, Reporter},
    storing::Storing,
};
use crate::{
    AccountsError, ChannelId,
    accounts::{effective_tools, fingerprint},
    conversation::{Sessions, Settings},
    machine::{Config, Machine},
    store::{self, Opened},
};

/// Prepares a run; `None` when `stop` came first.
pub(super) async fn start(
    context: AccountContext,
    reporter: Reporter,
    stop: &CancellationToken,
) -> Result<Option<Run>, RunError> {
    reporter.starting();
    let channel = ChannelId::new(context.channel.id.as_str());
    let channel =
        channel.map_err(|error| RunError::new(RunErrorKind::Failed, error.to_string(), ""))?;
    let lifetime = context.accounts.lifetime(&channel, &context.account);
    let lifetime = lifetime.map_err(|error| locked(&error))?;
    let inspected = tokio::select! {
        identity = inspect(&context) => identity,
        () = stop.cancelled() => return Ok(None),
    };
    let identity = inspected.map_err(|fault| not_inspected(&context, &fault))?;
    let tools =
        effective_tools(context.snapshot.settings.remote_tools, identity.owner_id.as_deref());
    reporter.identity(&identity, tools);
    let bot = fingerprint(&identity);
    let occupied = context.accounts.occupy(&channel, &context.account, &bot);
    let occupied = occupied.map_err(|other| {
        RunError::new(
            RunErrorKind::Failed,
            format!("this is the same bot as account {other}"),
            "stop or log out one of the two accounts",
        )
    })?;
    let (accounts, account) = (Arc::clone(&context.accounts), context.account.clone());
    let opened = spawn_blocking(move || store::open(&accounts, &channel, &account, lifetime, &bot));
    let opened = opened.await.map_err(|_| report::inconsistent())?;
    let Opened { state, log, was_torn } = opened.map_err(|error| report::not_opened(&error))?;
    if was_torn {
        tracing::warn!(
            channel = context.channel.id,
            account = %context.account,
            "the last commit before the previous end was cut off; it was left out"
        );
    }
    let settings = Settings {
        dialer: Arc::clone(&context.dialer),
        workspace: context.workspace.clone(),
        owner_turn_limit: context.owner_turn_limit,
    };
    Ok(Some(Run {
        machine: Machine::new(config(&context, identity, tools)),
        state,
        storing: Storing::new(log),
        sessions: Sessions::new(settings),
        link: Link::default(),
        tasks: JoinSet::new(),
        timers: std::collections::HashMap::new(),
        _occupied: occupied,
        context,
        reporter,
    }))
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

fn locked(error: &AccountsError) -> RunError {
    RunError::new(RunErrorKind::Retry, error.to_string(), "")
}

fn not_inspected(context: &AccountContext, fault: &Fault) -> RunError {
    match fault.kind {
        FaultKind::Auth => report::signed_out(&context.channel),
        FaultKind::Config => report::refused(fault),
        _ => RunError::new(RunErrorKind::Retry, fault.message.clone(), ""),
    }
}
