//! Shows the daemon and its components.

use scv_bridge::{Clock, SystemClock};
use scv_protocol::{Component, ControlCommand, DaemonStatus};

use crate::{
    args::JsonArgs,
    context::{Context, STALE_CONFIG},
    exit::Exit,
    say,
    table::{ago, table},
    terminal::harmless,
};

/// `scv status`.
pub(crate) async fn status(context: &Context, args: JsonArgs) -> anyhow::Result<Exit> {
    let status = context.demand(ControlCommand::Status).await?;
    if args.json {
        say(&serde_json::to_string(&status)?);
    } else {
        print(&status);
        tell_stale_config(context);
    }
    Ok(Exit::Done)
}

/// `scv reload`.
pub(crate) async fn reload(context: &Context) -> anyhow::Result<Exit> {
    let status = context.demand(ControlCommand::Reload).await?;
    print(&status);
    // A daemon reads its configuration at its start only, and then it must be right.
    context.check_config()?;
    tell_stale_config(context);
    Ok(Exit::Done)
}

fn tell_stale_config(context: &Context) {
    if context.config_is_newer_than_daemon() {
        let (what, fix) = STALE_CONFIG;
        say(&format!("{what}; {fix}"));
    }
}

/// The daemon in a line, its components in a table.
pub(crate) fn print(status: &DaemonStatus) {
    say(&format!("daemon {} runs (pid {})", status.version, status.pid));
    if status.components.is_empty() {
        say("no accounts; connect one with `scv channels login CHANNEL`");
    } else {
        print_components(&status.components);
    }
}

/// A table, and below it what is wrong and what to do.
pub(crate) fn print_components(components: &[Component]) {
    let now = SystemClock.unix_ms() / 1_000;
    let rows: Vec<_> = components.iter().map(|component| row(component, now)).collect();
    let head = ["ACCOUNT", "STATE", "LAST CONTACT", "BOT", "OWNER", "TOOLS", "RESTARTS"];
    say(harmless(&table(head, &rows)).trim_end());
    for component in components {
        for line in remarks(component) {
            say(&harmless(&format!("{}: {line}", component.id)));
        }
    }
}

fn row(component: &Component, now_unix_seconds: u64) -> [String; 7] {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
    let contact = component.last_success_unix_seconds;
    [
        component.id.clone(),
        component.state.to_string(),
        contact.map_or_else(|| "never".into(), |at| ago(at, now_unix_seconds)),
        or_dash(&component.bot_id),
        or_dash(&component.user_id),
        component.remote_tools.to_string(),
        component.restarts.to_string(),
    ]
}

fn remarks(component: &Component) -> Vec<String> {
    let count = |value: Option<u64>, one: &str, many: &str| match value? {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {many}")),
    };
    let refusal = component.last_refusal.as_ref();
    let error = component.error.clone();
    let said = |hint: &String| error.as_ref().is_some_and(|error| error.contains(hint));
    [
        error.clone(),
        component.hint.clone().filter(|hint| !said(hint)),
        count(component.pending, "reply waits to be accepted", "replies wait to be accepted"),
        count(
            component.held,
            "refused reply is kept for the next answer",
            "refused replies are kept for the next answer",
        ),
        count(
            component.unconfirmed,
            "message was accepted without a receipt",
            "messages were accepted without a receipt",
        ),
        refusal.map(|refusal| {
            format!("the last refusal had code {} ({})", refusal.code, refusal.text)
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_healthy_account_has_no_remarks() {
        let healthy = Component {
            pending: Some(0),
            held: Some(0),
            unconfirmed: Some(0),
            ..Component::default()
        };
        assert!(remarks(&healthy).is_empty());
        let troubled = Component {
            error: Some("broken".into()),
            hint: Some("mend it".into()),
            held: Some(2),
            ..healthy
        };
        assert_eq!(
            remarks(&troubled),
            ["broken", "mend it", "2 refused replies are kept for the next answer"]
        );
        let signed_out = Component {
            error: Some("signed out; run `scv it`".into()),
            hint: Some("run `scv it`".into()),
            held: Some(1),
            ..troubled
        };
        assert_eq!(
            remarks(&signed_out),
            ["signed out; run `scv it`", "1 refused reply is kept for the next answer"]
        );
    }
}
