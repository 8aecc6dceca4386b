//! The plugins that the daemon has or would have, and what is configured for them.

use std::collections::BTreeSet;

use scv_daemon::{PluginsConfig, plugin_info};
use scv_plugin_host::{PluginReport, check_settings, manage::readable, scan};
use scv_protocol::{DaemonStatus, PluginInfo, PluginState};

use super::Finding;
use crate::{args::PluginDirs, context::Context};

/// Only a damaged file of pins is worth a line.
pub(super) fn pins(context: &Context) -> Option<Finding> {
    let refusal = readable(&context.home).err()?;
    Some(Finding::wrong("plugins", refusal.reason, refusal.fix))
}

pub(super) fn look(
    context: &Context,
    dirs: &PluginDirs,
    daemon: Option<&DaemonStatus>,
) -> Vec<Finding> {
    let found = on_disk(context, dirs);
    let plugins = match (daemon.and_then(|status| status.plugins.clone()), &found) {
        (Some(plugins), _) => plugins,
        (None, Ok((_, reports))) => reports.iter().map(plugin_info).collect(),
        (None, Err(error)) => return vec![Finding::error("plugins", error)],
    };
    let mut findings: Vec<Finding> = plugins.iter().map(one_plugin).collect();
    if plugins.is_empty() {
        let fix =
            "build them with `cargo xtask plugins`, or install scv with `cargo xtask install`";
        findings.push(Finding::note("plugins", "there are none, so there are no channels", fix));
    }
    // A configuration that cannot be read is a finding of its own.
    if let Ok((config, reports)) = found {
        let known = plugins.iter().map(|plugin| plugin.name.as_str()).collect();
        findings.extend(tables_of_nobody(&config, &known));
        // One that has refused them already has its finding.
        let serves = |report: &&PluginReport| {
            let state = plugins.iter().find(|plugin| plugin.name == report.name);
            state.is_some_and(|plugin| plugin.state != PluginState::Refused)
        };
        let reports = reports.iter().filter(serves);
        findings.extend(reports.filter_map(|report| settings(&config, report)));
    }
    findings
}

fn on_disk(
    context: &Context,
    dirs: &PluginDirs,
) -> anyhow::Result<(PluginsConfig, Vec<PluginReport>)> {
    let config = context.plugins_config()?;
    let search = context.search(dirs, &config)?;
    let reports = scan(&search, &config.policy());
    Ok((config, reports))
}

/// Tables of the configuration whose plugin is not there: misspelt, or left over.
fn tables_of_nobody(config: &PluginsConfig, known: &BTreeSet<&str>) -> Vec<Finding> {
    let nobody = config.named.iter().filter(|name| !known.contains(name.as_str()));
    let finding = |name| {
        let text = format!("[plugins.{name}] is configured, and there is no such plugin");
        Finding::note("plugins", text, "correct the name, or remove the table")
    };
    nobody.map(finding).collect()
}

/// Settings that the plugin will refuse at its next start.
fn settings(config: &PluginsConfig, report: &PluginReport) -> Option<Finding> {
    let refusal =
        check_settings(report.manifest.as_ref()?, config.settings.get(&report.name)?).err()?;
    Some(Finding::wrong("plugins", format!("{}: {}", report.name, refusal.reason), refusal.fix))
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
