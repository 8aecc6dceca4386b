//! `scv plugins add`, `remove`, `enable` and `disable`: a decision is written down, and a
//! running daemon is told.

use scv_daemon::{plugin_info, plugin_options, prepare_home};
use scv_plugin_host::{HostOptions, PluginReport, PluginState, manage};
use scv_protocol::{ControlCommand, PluginInfo};
use serde_json::json;

use super::args::{AddArgs, NameArgs};
use crate::{args::PluginDirs, context::Context, exit::Exit, say, terminal::harmless};

pub(super) async fn add(context: &Context, args: AddArgs) -> anyhow::Result<Exit> {
    let path = std::path::absolute(&args.path)?;
    let report = manage::add(&options(context)?, &path).await?;
    tell(context, report, "added", args.json.json).await
}

pub(super) async fn enable(context: &Context, args: NameArgs) -> anyhow::Result<Exit> {
    let report = manage::enable(&options(context)?, &args.name)?;
    tell(context, report, "switched on", args.json.json).await
}

pub(super) async fn disable(context: &Context, args: NameArgs) -> anyhow::Result<Exit> {
    let report = manage::disable(&options(context)?, &args.name)?;
    tell(context, report, "switched off", args.json.json).await
}

pub(super) async fn remove(context: &Context, args: NameArgs) -> anyhow::Result<Exit> {
    manage::remove(&options(context)?, &args.name)?;
    reload(context).await?;
    if args.json.json {
        say(&json!({"name": args.name, "removed": true}).to_string());
    } else {
        say(&harmless(&format!("{} was removed; its accounts stay signed in", args.name)));
    }
    Ok(Exit::Done)
}

fn options(context: &Context) -> anyhow::Result<HostOptions> {
    let config = context.plugins_config()?;
    let search = context.search(&PluginDirs::default(), &config)?;
    prepare_home(&context.home)?;
    Ok(plugin_options(&context.home, search, &config))
}

/// Lets a running daemon follow, and says how the plugin is then. What stands in its way though
/// the decision is written down is a failure.
async fn tell(
    context: &Context,
    report: PluginReport,
    done: &str,
    as_json: bool,
) -> anyhow::Result<Exit> {
    let served = reload(context).await?;
    let mine = |plugin: &PluginInfo| plugin.name == report.name;
    let info = served.into_iter().find(mine).unwrap_or_else(|| plugin_info(&report));
    if as_json {
        say(&serde_json::to_string(&info)?);
    } else {
        let state = info.state.to_string();
        say(&harmless(&format!("{} {} was {done}: {state}", info.name, info.version)));
        if let (Some(reason), Some(fix)) = (&info.reason, &info.fix) {
            say(&harmless(&format!("{}: {reason}; {fix}", info.name)));
        }
    }
    let is_wanted = match report.state {
        PluginState::Ready => true,
        PluginState::Disabled => done == "switched off",
        _ => false,
    };
    Ok(if is_wanted { Exit::Done } else { Exit::Failed })
}

/// The daemon's plugins after it has looked again; none when none runs.
async fn reload(context: &Context) -> anyhow::Result<Vec<PluginInfo>> {
    if context.ask(ControlCommand::Reload).await?.is_none() {
        return Ok(Vec::new());
    }
    let status = context.ask(ControlCommand::Plugins).await?;
    Ok(status.and_then(|status| status.plugins).unwrap_or_default())
}
