//! The daemon behind the socket, and the plugins that it has or would have.

use scv_daemon::{plugin_info, socket_path};
use scv_plugin_host::{manage::readable, scan};
use scv_protocol::{ControlCommand, DaemonStatus, PluginInfo, PluginState};

use super::Finding;
use crate::{args::PluginDirs, context::Context};

/// The daemon's plugins and components, where one runs.
pub(super) async fn look(context: &Context) -> (Option<DaemonStatus>, Finding) {
    let socket = socket_path(&context.home);
    match context.ask(ControlCommand::Plugins).await {
        Ok(Some(status)) if status.version != env!("CARGO_PKG_VERSION") => {
            let text = format!("the running daemon is version {}", status.version);
            (Some(status), Finding::note("socket", text, "restart it to use the installed one"))
        }
        Ok(Some(status)) => {
            let text = format!("daemon {} answers (pid {})", status.version, status.pid);
            (Some(status), Finding::ok("socket", text))
        }
        Ok(None) => {
            let text = "no daemon runs, so no chat account is served";
            (None, Finding::note("socket", text, "start one with `scv run`"))
        }
        Err(error) => {
            let text = format!("{} does not answer: {error:#}", socket.display());
            (
                None,
                Finding::wrong(
                    "socket",
                    text,
                    "end the process that holds it, and start `scv run`",
                ),
            )
        }
    }
}

/// Only a damaged file of pins is worth a line.
pub(super) fn pins(context: &Context) -> Option<Finding> {
    let refusal = readable(&context.home).err()?;
    Some(Finding::wrong("plugins", refusal.reason, refusal.fix))
}

pub(super) fn plugins(
    context: &Context,
    dirs: &PluginDirs,
    daemon: Option<&DaemonStatus>,
) -> Vec<Finding> {
    let plugins = match daemon.and_then(|status| status.plugins.clone()) {
        Some(plugins) => plugins,
        None => match on_disk(context, dirs) {
            Ok(plugins) => plugins,
            Err(error) => return vec![Finding::error("plugins", &error)],
        },
    };
    if plugins.is_empty() {
        let fix =
            "build them with `cargo xtask plugins`, or install scv with `cargo xtask install`";
        return vec![Finding::note("plugins", "there are none, so there are no channels", fix)];
    }
    plugins.iter().map(one_plugin).collect()
}

fn on_disk(context: &Context, dirs: &PluginDirs) -> anyhow::Result<Vec<PluginInfo>> {
    let config = context.plugins_config()?;
    let search = context.search(dirs, &config)?;
    Ok(scan(&search, &config.policy()).iter().map(plugin_info).collect())
}

fn one_plugin(plugin: &PluginInfo) -> Finding {
    let text = format!("{} {} is {}", plugin.name, plugin.version, plugin.state);
    let reason = plugin.reason.clone().map(|reason| format!("{text}: {reason}"));
    let fix = || plugin.fix.clone().unwrap_or_else(|| "see `scv plugins list`".to_owned());
    match plugin.state {
        PluginState::Loaded | PluginState::Ready | PluginState::Disabled => {
            Finding::ok("plugins", text)
        }
        PluginState::Stale => {
            Finding::note("plugins", text, "run `scv reload` to use the new file")
        }
        _ => Finding::wrong("plugins", reason.unwrap_or(text), fix()),
    }
}
