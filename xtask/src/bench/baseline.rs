//! What the machine costs without scv.

use std::{
    fs::File,
    io::Write,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::median;

/// Runs of a baseline.
const RUNS: usize = 51;
/// A record about as large as those of the journal.
const RECORD: [u8; 400] = [b'x'; 400];

/// One append and fdatasync to a file in `folder`.
pub(super) fn append_and_sync(folder: &Path) -> Result<Duration> {
    let file = File::create(folder.join("baseline"))?;
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let begin = Instant::now();
        commit(&file)?;
        times.push(begin.elapsed());
    }
    median(times).context("there were runs")
}

/// One commit at its barest.
pub(super) fn commit(mut file: &File) -> Result<()> {
    file.write_all(&RECORD)?;
    Ok(file.sync_data()?)
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
