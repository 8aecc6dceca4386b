//! `scv plugins list`: what the daemon loaded, or what it would load.

use scv_daemon::plugin_info;
use scv_plugin_host::scan;
use scv_protocol::{ControlCommand, PluginInfo};

use super::args::ListArgs;
use crate::{
    context::Context,
    exit::{self, Exit},
    say,
    table::table,
    terminal::harmless,
};

pub(super) async fn run(context: &Context, args: ListArgs) -> anyhow::Result<Exit> {
    let daemon = context.ask(ControlCommand::Plugins).await?;
    let cannot_apply = context.names_config() || !args.plugins.dirs.is_empty();
    if daemon.is_some() && cannot_apply {
        return Err(exit::usage(
            "--config and --plugin-dir cannot change a running daemon; leave them out, or stop it first",
        ));
    }
    let runs = daemon.is_some();
    let plugins = match daemon {
        Some(status) => status.plugins.unwrap_or_default(),
        None => on_disk(context, &args)?,
    };
    if args.json.json {
        say(&serde_json::to_string(&plugins)?);
    } else if plugins.is_empty() && runs && !on_disk(context, &args)?.is_empty() {
        say(
            "plugins are off: the running daemon was started with --no-plugins; restart it without that (or run `scv reload`, if the plugin files are new)",
        );
    } else {
        print(&plugins);
    }
    Ok(Exit::Done)
}

/// Looks at the files; runs none of their code.
fn on_disk(context: &Context, args: &ListArgs) -> anyhow::Result<Vec<PluginInfo>> {
    let config = context.plugins_config()?;
    let search = context.search(&args.plugins, &config)?;
    Ok(scan(&search, &config.policy()).iter().map(plugin_info).collect())
}

fn print(plugins: &[PluginInfo]) {
    if plugins.is_empty() {
        say("no plugin files found; `cargo xtask plugins` builds them from a source tree");
        return;
    }
    let rows: Vec<_> = plugins.iter().map(row).collect();
    let head = ["NAME", "VERSION", "ABI", "CHANNELS", "STATE", "SHA256", "PATH"];
    say(harmless(&table(head, &rows)).trim_end());
    for plugin in plugins {
        if let Some(reason) = &plugin.reason {
            let step = plugin.step.as_deref().unwrap_or("find");
            let fix = plugin.fix.as_deref().unwrap_or_default();
            say(&harmless(&format!("{}: {step}: {reason}; {fix}", plugin.name)));
        }
    }
}

fn row(plugin: &PluginInfo) -> [String; 7] {
    let or_dash = |text: String| if text.is_empty() { "-".into() } else { text };
    [
        plugin.name.clone(),
        or_dash(plugin.version.clone()),
        or_dash(plugin.abi.clone()),
        or_dash(plugin.channels.join(",")),
        plugin.state.to_string(),
        or_dash(plugin.sha256.chars().take(12).collect()),
        plugin.file.display().to_string(),
    ]
}
