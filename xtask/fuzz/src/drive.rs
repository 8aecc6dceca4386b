//! Runs a target on mutated inputs until the time is over or something is found.

use std::{
    collections::HashSet,
    fmt, fs, io,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use crate::{
    limits::{MAX_POOL_COUNT, MAX_RUN_MS},
    mutate::{Dice, mutate},
    targets::{Kind, Target},
};

/// A run without a finding.
pub(crate) struct Report {
    runs: u64,
    seconds: u64,
    kinds: usize,
    pool: usize,
}

/// An input that a target does not bear.
pub(crate) struct Finding {
    what: String,
    file: io::Result<PathBuf>,
}

/// The inputs worth changing, and what they led to.
struct Pool {
    inputs: Vec<Vec<u8>>,
    kinds: HashSet<Kind>,
}

/// Tries the seeds as they are, then changes of what is in the pool.
pub(crate) fn run(target: &Target, seeds: Vec<Vec<u8>>, time: Duration) -> Result<Report, Finding> {
    let begun = Instant::now();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut dice = Dice::new(now.as_secs());
    let mut pool = Pool { inputs: Vec::new(), kinds: HashSet::new() };
    let mut runs = 0;
    let mut seeds = seeds.into_iter();
    while begun.elapsed() < time || seeds.len() > 0 {
        let seed = seeds.next();
        let is_seed = seed.is_some();
        let input = seed.unwrap_or_else(|| pool.change(&mut dice, target.words));
        let kind = attempt(target, &input)?;
        pool.keep(kind, input, is_seed);
        runs += 1;
    }
    let seconds = begun.elapsed().as_secs();
    Ok(Report { runs, seconds, kinds: pool.kinds.len(), pool: pool.inputs.len() })
}

/// Runs an input, twice when it takes long: a busy machine is no finding.
fn attempt(target: &Target, input: &[u8]) -> Result<Kind, Finding> {
    let found = |what| Finding { what, file: save(target, input) };
    let mut took = Duration::ZERO;
    for _ in 0..2 {
        let begun = Instant::now();
        let result = panic::catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
        took = begun.elapsed();
        let kind = result.map_err(|_| found("a panic".to_owned()))?;
        if took <= Duration::from_millis(MAX_RUN_MS) {
            return Ok(kind);
        }
    }
    Err(found(format!("{took:?} for one input")))
}

/// Beside the builds, where nothing is kept for long.
fn save(target: &Target, input: &[u8]) -> io::Result<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/findings");
    fs::create_dir_all(&folder)?;
    let file = folder.join(target.name);
    fs::write(&file, input)?;
    Ok(file)
}

impl Pool {
    /// Keeps the seeds, and what led to something new.
    fn keep(&mut self, kind: Kind, input: Vec<u8>, is_seed: bool) {
        let is_new = self.inputs.len() < MAX_POOL_COUNT && self.kinds.insert(kind);
        if is_new || is_seed {
            self.inputs.push(input);
        }
    }

    fn change(&self, dice: &mut Dice, words: &[&[u8]]) -> Vec<u8> {
        if self.inputs.is_empty() {
            return Vec::new();
        }
        let (input, other) = (dice.pick(&self.inputs), dice.pick(&self.inputs));
        mutate(dice, input, other, words)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, seconds, kinds, pool } = self;
        write!(f, "{runs} inputs in {seconds} s, {kinds} kinds of outcome, {pool} kept, no finding")
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Ok(file) => write!(f, "{}; the input is in {}", self.what, file.display()),
            Err(error) => write!(f, "{}; the input cannot be saved: {error}", self.what),
        }
    }
}
