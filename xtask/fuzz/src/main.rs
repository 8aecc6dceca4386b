//! Fuzz targets of scv and their driver: `cargo xtask fuzz NAME --seconds N`.
//!
//! A target is a plain function over bytes that panics when something is wrong, and otherwise
//! says what kind of thing happened, so that the driver can keep what led to something new. No
//! target needs a special compiler; any other fuzzer can drive the same functions.

mod drive;
mod limits;
mod mutate;
mod seeds;
mod targets;

use std::{process::ExitCode, time::Duration};

use targets::Target;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let parsed = match arguments.as_slice() {
        [name, seconds] => Target::named(name).zip(seconds.parse().ok()),
        _ => None,
    };
    let Some((target, seconds)) = parsed else {
        eprintln!("usage: scv-fuzz NAME SECONDS, with one of these names: {}", Target::NAMES);
        return ExitCode::from(2);
    };
    let seeds = match seeds::of(&target) {
        Ok(seeds) => seeds,
        Err(error) => {
            eprintln!("the seeds cannot be read: {error}");
            return ExitCode::FAILURE;
        }
    };
    match drive::run(&target, seeds, Duration::from_secs(seconds)) {
        Ok(report) => {
            println!("{}: {report}", target.name);
            ExitCode::SUCCESS
        }
        Err(finding) => {
            eprintln!("{}: {finding}", target.name);
            ExitCode::FAILURE
        }
    }
}
