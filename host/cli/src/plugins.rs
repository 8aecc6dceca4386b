//! `scv plugins`: what the daemon loaded, or what it would load.

use scv_daemon::plugin_info;
use scv_plugin_host::scan;
use scv_protocol::{ControlCommand, PluginInfo, PluginState};

use crate::{
    args::{PluginListArgs, PluginsCommand},
    context::Context,
    exit::Exit,
    say,
    table::table,
    terminal::harmless,
};

pub(crate) async fn run(context: &Context, command: PluginsCommand) -> anyhow::Result<Exit> {
    match command {
        PluginsCommand::List(args) => list(context, args).await,
    }
}

async fn list(context: &Context, args: PluginListArgs) -> anyhow::Result<Exit> {
    let plugins = match context.ask(ControlCommand::Plugins).await? {
        Some(status) => status.plugins.unwrap_or_default(),
        None => on_disk(context, &args)?,
    };
    if args.json.json {
        say(&serde_json::to_string(&plugins)?);
    } else {
        print(&plugins);
    }
    Ok(Exit::Done)
}

/// Looks at the files; runs none of their code.
fn on_disk(context: &Context, args: &PluginListArgs) -> anyhow::Result<Vec<PluginInfo>> {
    let config = context.config()?;
    let search = context.search(&args.plugins, &config);
    let plugins = scan(&search).into_iter().map(|report| {
        let mut info = plugin_info(&report);
        if info.state == PluginState::Ready && config.plugins.disabled.contains(&info.name) {
            info.state = PluginState::Disabled;
        }
        info
    });
    Ok(plugins.collect())
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
            say(&harmless(&format!("{}: {step}: {reason}. {fix}", plugin.name)));
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
        state(plugin.state).into(),
        or_dash(plugin.sha256.chars().take(12).collect()),
        plugin.file.display().to_string(),
    ]
}

const fn state(state: PluginState) -> &'static str {
    match state {
        PluginState::Loaded => "loaded",
        PluginState::Ready => "ready",
        PluginState::Stale => "stale",
        PluginState::Disabled => "disabled",
        PluginState::Unpinned => "unpinned",
        PluginState::Conflict => "conflict",
        PluginState::Quarantined => "quarantined",
        PluginState::Wedged => "wedged",
        PluginState::Refused => "refused",
        PluginState::Unknown => "unknown",
    }
}
