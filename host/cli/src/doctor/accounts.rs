//! The chat accounts: as the daemon has them, or as they are saved.

use std::sync::Arc;

use scv_bridge::{Accounts, ChannelId, Home, fs::FileSystem};
use scv_protocol::{Component, ComponentState, DaemonStatus};

use super::Finding;
use crate::context::Context;

pub(super) fn look(
    context: &Context,
    fs: Arc<dyn FileSystem>,
    daemon: Option<&DaemonStatus>,
) -> Vec<Finding> {
    let findings = match daemon {
        Some(status) => status.components.iter().map(running).collect(),
        None => saved(&Accounts::new(Home::new(context.home.clone()), fs)),
    };
    if findings.is_empty() {
        let fix = "connect one with `scv channels login CHANNEL`";
        return vec![Finding::note("accounts", "no chat account is signed in", fix)];
    }
    findings
}

fn running(component: &Component) -> Finding {
    let text = format!("{} is {}", component.id, component.state);
    let error = component.error.clone().map(|error| anyhow::anyhow!("{text}: {error}"));
    match (component.state, error) {
        (ComponentState::Failed | ComponentState::Backoff, Some(error)) => {
            Finding::error("accounts", &error)
        }
        (_, Some(error)) => Finding::note("accounts", error.to_string(), "it is tried again"),
        (_, None) => Finding::ok("accounts", text),
    }
}

fn saved(accounts: &Accounts) -> Vec<Finding> {
    match accounts.unclaimed(&[]) {
        Ok(channels) => channels.iter().flat_map(|id| channel(accounts, id)).collect(),
        Err(error) => vec![Finding::error("accounts", &error.into())],
    }
}

fn channel(accounts: &Accounts, channel: &ChannelId) -> Vec<Finding> {
    let names = match accounts.discover(channel) {
        Ok(names) => names,
        Err(error) => return vec![Finding::error("accounts", &error.into())],
    };
    let one = |name| match accounts.snapshot(channel, name) {
        Ok(_) => Finding::ok("accounts", format!("{channel}:{name} is signed in")),
        Err(error) => Finding::error("accounts", &error.into()),
    };
    names.iter().map(one).collect()
}
