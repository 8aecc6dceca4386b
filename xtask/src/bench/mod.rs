//! `cargo xtask bench`: what things cost, against bare baselines measured in the same run.
//!
//! Release builds, medians of several runs. Nothing here fails for being slow: the numbers are
//! for people who compare two commits on one machine.

mod baseline;
mod channel;
mod disk;
mod engine;
mod feishu;
mod one_core;
mod plugins;
mod reply;
mod start;

use std::{collections::BTreeSet, process::Command};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    cargo::{self, Profile},
    harness::Built,
    workspace::Workspace,
};

/// What can be measured.
const ROWS: [&str; 25] = [
    "cold-start",
    "idle-daemon",
    "load",
    "call",
    "plugins-memory",
    "message-to-reply",
    "message-4096",
    "message-cpu",
    "slow-disk",
    "restart",
    "idle-accounts",
    "disk",
    "deltas-small",
    "deltas-large",
    "turn",
    "first-byte",
    "history",
    "idle-session",
    "large-answer",
    "stopped-readers",
    "flat-memory",
    "disk-4096",
    "feishu-acks",
    "feishu-cpu",
    "feishu-frames",
];

/// Builds a release and prints a row for each measurement: those that are named, or all.
///
/// # Errors
/// When something does not build or a daemon does not do what is measured.
pub fn run(workspace: &Workspace, rows: &[String]) -> Result<()> {
    for row in rows {
        ensure!(ROWS.contains(&row.as_str()), "there is no row {row}; name one of {ROWS:?}");
    }
    if cfg!(debug_assertions) {
        return run_optimised(workspace, rows);
    }
    let wanted = |row: &&&str| rows.is_empty() || rows.iter().any(|name| name == *row);
    let packages: BTreeSet<&str> = ROWS.iter().filter(wanted).flat_map(|row| needs(row)).collect();
    let built = Built::build_with(workspace, &Profile::release(), packages)?;
    tokio::runtime::Runtime::new()?.block_on(async {
        for row in ROWS.iter().filter(wanted) {
            measure(workspace, &built, row).await.with_context(|| format!("row {row}"))?;
        }
        Ok(())
    })
}

/// Baselines, simulators and clients are part of what is measured: they are optimised, too.
fn run_optimised(workspace: &Workspace, rows: &[String]) -> Result<()> {
    let programs = cargo::build(&workspace.root, "xtask", &Profile::release())?;
    let program = programs.into_iter().find(|artifact| artifact.kind == "bin");
    let mut command = Command::new(program.context("xtask built no program")?.file);
    command.arg("bench");
    if !rows.is_empty() {
        command.arg("--rows").args(rows);
    }
    match command.status()?.success() {
        true => Ok(()),
        false => bail!("the measurement failed"),
    }
}

/// The packages whose programs and libraries a row needs beside `scv` and the plugins.
fn needs(row: &str) -> Vec<&'static str> {
    match row {
        "load" => vec!["scv-plugin-host"],
        "call" => vec!["scv-plugin-host", "scv-channel-fixture"],
        // What is counted or slowed down at the file system trait.
        row if row.contains("disk") || row == "feishu-acks" => vec!["scv-e2e"],
        _ => Vec::new(),
    }
}

async fn measure(workspace: &Workspace, built: &Built, row: &str) -> Result<()> {
    match row {
        "cold-start" => start::cold(built).await,
        "idle-daemon" => start::idle(built).await,
        "message-to-reply" => reply::message_to_reply(built, 0).await,
        "message-4096" => reply::message_to_reply(built, 4096).await,
        "message-cpu" => channel::cpu_per_message(built).await,
        "slow-disk" => channel::senders_on_a_slow_disk(built).await,
        "restart" => channel::restart_to_polling(built).await,
        "idle-accounts" => channel::idle_switches(built).await,
        "load" => plugins::load(built).await,
        "call" => plugins::call(built).await,
        "plugins-memory" => {
            // What of a file is in memory depends on its size: these are as people get them.
            let built = built.with_plugins(workspace, &Profile::dist())?;
            plugins::memory(&built).await
        }
        "disk" => disk::per_message(built, 0).await,
        "disk-4096" => disk::per_message(built, 4096).await,
        "deltas-small" => engine::deltas(built, 64, 10_000, 1).await,
        "deltas-large" => engine::deltas(built, 4096, 250, 20).await,
        "turn" => engine::turn(built).await,
        "first-byte" => engine::first_byte(built).await,
        "history" => engine::history(built).await,
        "idle-session" => engine::idle(built).await,
        "large-answer" => engine::large_answer(built).await,
        "stopped-readers" => engine::stopped_readers(built).await,
        "flat-memory" => engine::flat(built).await,
        "feishu-acks" => feishu::acknowledgements(built).await,
        "feishu-cpu" => feishu::cpu_per_message(built).await,
        "feishu-frames" => feishu::frames(built).await,
        other => bail!("nothing measures {other}"),
    }
}

/// One measurement: what, how much, and against what.
fn row(what: &str, value: &str, against: &str) {
    println!("{what:<46} {value:>14}   {against}");
}

/// The middle of some measurements.
fn median<T: Copy + PartialOrd>(mut values: Vec<T>) -> Option<T> {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_middle_is_the_middle() {
        assert_eq!(median(vec![9, 1, 5]), Some(5));
        assert_eq!(median(Vec::<u32>::new()), None);
    }
}
