//! `scv exec`: one turn, its answer on stdout, everything else on stderr.

mod screen;
mod turn;

use std::io::IsTerminal;

use anyhow::Context as _;
use scv_daemon::InProcess;
use scv_protocol::{SessionStart, client::Client, limits::MAX_PROMPT_BYTES};

use crate::{
    args::ExecArgs,
    context::{Context, is_absent},
    exit::{self, Exit},
    signals::Signals,
    stdin::read_text,
    terminal,
};
use turn::{Approvals, Turn};

pub(crate) async fn run(context: &Context, args: ExecArgs) -> anyhow::Result<Exit> {
    let from_stdin = args.prompt.as_deref().is_none_or(|prompt| prompt == "-");
    let prompt = prompt(args.prompt)?;
    let server = server(context, args.daemon, args.private).await?;
    let cwd = std::env::current_dir().context("the current folder cannot be read")?;
    let (client, private) = match server {
        Way::Daemon(client) => (client, None),
        Way::Private(server) => (server.connect().await?, Some(server)),
    };
    // A private server has these in its configuration already.
    let named = |value: &Option<String>| value.clone().filter(|_| private.is_none());
    let turn = Turn {
        client,
        signals: Signals::catch()?,
        approvals: match args.yes {
            true => Approvals::Yes,
            false if !from_stdin && terminal::can_ask() => Approvals::Ask,
            false => Approvals::No,
        },
        screen: screen::Screen::new(args.json, context.global.color),
    };
    let start = SessionStart {
        request_id: "session".into(),
        cwd,
        provider: named(&context.global.provider),
        model: named(&context.global.model),
        base_url: named(&context.global.base_url),
        no_tools: false,
    };
    let provider = start.provider.clone();
    let exit = turn.run(start, prompt).await;
    if let Some(server) = private {
        server.close().await;
    }
    match exit {
        Err(error) if provider.is_some() && exit::of(&error) == Exit::Usage => {
            // The daemon does not say which providers there are; the configuration does.
            context.config().map(|_| Err(error))?
        }
        exit => exit,
    }
}

/// Who answers.
enum Way {
    Daemon(Client),
    Private(InProcess),
}

async fn server(context: &Context, daemon: bool, private: bool) -> anyhow::Result<Way> {
    if private {
        return private_server(context);
    }
    match context.dial().await {
        Ok(_) if context.global.approval_policy.is_some() => Err(exit::usage(
            "--approval-policy cannot change a running daemon; add --private to use a server of this command's own",
        )),
        Ok(_) if context.names_config() => Err(exit::usage(
            "--config cannot change a running daemon; add --private to use a server of this command's own",
        )),
        Ok(client) => Ok(Way::Daemon(client)),
        Err(error) if is_absent(&error) && daemon => Err(exit::refused(
            Exit::NoDaemon,
            "no daemon is running; start it with `scv run`, or leave out --daemon",
        )),
        Err(error) if is_absent(&error) => private_server(context),
        Err(error) => Err(error.into()),
    }
}

fn private_server(context: &Context) -> anyhow::Result<Way> {
    let server = InProcess::private(context.config()?, context.client());
    Ok(Way::Private(server.map_err(|error| exit::usage(error.to_string()))?))
}

fn prompt(argument: Option<String>) -> anyhow::Result<String> {
    let prompt = match argument {
        Some(prompt) if prompt != "-" => prompt,
        None if std::io::stdin().is_terminal() => String::new(),
        _ => read_text("prompt", MAX_PROMPT_BYTES)?,
    };
    if prompt.trim().is_empty() {
        return Err(exit::usage("there is no prompt; write one after `scv exec`, or pipe one in"));
    }
    Ok(prompt)
}
