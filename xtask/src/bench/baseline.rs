//! What the machine costs without scv.

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::{engine::process::thread_cpu, median};

/// Runs of a baseline.
const RUNS: usize = 51;
/// A record about as large as those of the journal.
const RECORD: [u8; 400] = [b'x'; 400];

/// One append and fdatasync to a file in `folder`.
pub(super) fn append_and_sync(folder: &Path) -> Result<Duration> {
    let mut file = std::fs::File::create(folder.join("baseline"))?;
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let begin = Instant::now();
        file.write_all(&RECORD)?;
        file.sync_data()?;
        times.push(begin.elapsed());
    }
    median(times).context("there were runs")
}

/// The CPU of one append and fdatasync to a file in `folder`.
pub(super) fn cpu_of_append_and_sync(folder: &Path) -> Result<Duration> {
    let before = thread_cpu()?;
    append_and_sync(folder)?;
    Ok(thread_cpu()?.saturating_sub(before) / u32::try_from(RUNS)?)
}

/// Starting a program and waiting for its end.
pub(super) fn process(program: &Path) -> Result<Duration> {
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let begin = Instant::now();
        Command::new(program).arg("--version").stdout(Stdio::null()).status()?;
        times.push(begin.elapsed());
    }
    median(times).context("there were runs")
}
