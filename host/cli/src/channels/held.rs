//! `scv channels held`: replies that the platform refused and that are kept.

use anyhow::bail;
use scv_bridge::{Accounts, Clock, SystemClock};
use scv_protocol::{ControlCommand, HeldReply};

use super::{
    args::{AccountArgs, ChannelHeldArgs},
    set::prepare,
};
use crate::{
    context::Context,
    exit::Exit,
    say,
    table::{age, table},
    terminal::harmless,
};

/// Instead of ids: all of them.
const ALL: &str = "all";

pub(super) async fn run(
    context: &Context,
    args: ChannelHeldArgs,
    accounts: &Accounts,
) -> anyhow::Result<Exit> {
    prepare(context, accounts, &args.account).await?;
    let drop = match args.drop.iter().any(|id| id == ALL) {
        true => ask(context, &args.account, false, Vec::new()).await?.into_iter().map(id).collect(),
        false => args.drop,
    };
    let dropped = drop.len();
    let held = ask(context, &args.account, args.show, drop).await?;
    if args.json.json {
        say(&serde_json::to_string(&held)?);
        return Ok(Exit::Done);
    }
    if dropped > 0 {
        say(&format!("dropped {dropped}"));
    }
    match held.is_empty() {
        true => say("no reply is held"),
        false => print(&held),
    }
    Ok(Exit::Done)
}

fn id(held: HeldReply) -> String {
    held.id
}

async fn ask(
    context: &Context,
    args: &AccountArgs,
    show: bool,
    drop: Vec<String>,
) -> anyhow::Result<Vec<HeldReply>> {
    let (channel, account) = (args.channel.clone(), args.account.name.clone());
    let command = ControlCommand::ChannelHeld { channel, account, show, drop };
    match context.demand(command).await?.held {
        Some(held) => Ok(held),
        None => bail!("the daemon is of another release; restart it with this one"),
    }
}

fn print(held: &[HeldReply]) {
    let now = SystemClock.unix_ms() / 1_000;
    let rows: Vec<_> = held.iter().map(|held| row(held, now)).collect();
    say(harmless(&table(["ID", "AGE", "BYTES", "FOR"], &rows)).trim_end());
    for reply in held {
        if let Some(text) = &reply.text {
            say(&harmless(&format!("\n{}:\n{text}", reply.id)));
        }
    }
}

fn row(held: &HeldReply, now_unix_seconds: u64) -> [String; 4] {
    let reader = match &held.group {
        Some(group) => format!("{} in {group}", held.user_id),
        None => held.user_id.clone(),
    };
    let seconds = now_unix_seconds.saturating_sub(held.held_at_unix_seconds);
    [held.id.clone(), age(seconds), held.bytes.to_string(), reader]
}
