//! `scv channels send`: a message to the owner that answers nothing.

use scv_bridge::Accounts;
use scv_protocol::ControlCommand;

use super::{args::ChannelSendArgs, set::prepare};
use crate::{
    context::Context,
    exit::{self, Exit},
    limits::SEND_TEXT_BYTES,
    say,
    stdin::read_text,
};

pub(super) async fn run(
    context: &Context,
    args: ChannelSendArgs,
    accounts: &Accounts,
) -> anyhow::Result<Exit> {
    prepare(context, accounts, &args.account).await?;
    let text = match args.text {
        text if text == "-" => read_text("message", SEND_TEXT_BYTES)?,
        text => text,
    };
    if text.trim().is_empty() {
        return Err(exit::usage(
            "the message is empty; write one after the channel, or pipe one in",
        ));
    }
    if text.len() > SEND_TEXT_BYTES {
        return Err(exit::usage("the message is longer than 64 KiB; send less"));
    }
    let (channel, account) = (args.account.channel, args.account.account.name);
    context.demand(ControlCommand::ChannelSend { channel, account, text }).await?;
    say("stored; it goes to the owner as soon as the platform takes it");
    Ok(Exit::Done)
}
