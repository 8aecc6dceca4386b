//! `cargo xtask bench`: what things cost, against bare baselines measured in the same run.
//!
//! Release builds, medians of several runs. Nothing here fails for being slow: the numbers are
//! for people who compare two commits on one machine.

mod baseline;
mod disk;
mod reply;
mod start;

use anyhow::Result;

use crate::{cargo::Profile, harness::Built, workspace::Workspace};

/// Builds a release and prints a row for each measurement.
///
/// # Errors
/// When something does not build or a daemon does not do what is measured.
pub fn run(workspace: &Workspace) -> Result<()> {
    let built = Built::build_for_tests(workspace, &Profile::release())?;
    tokio::runtime::Runtime::new()?.block_on(async {
        start::cold(&built).await?;
        start::idle(&built).await?;
        reply::message_to_reply(&built).await?;
        disk::per_message(&built, 0).await?;
        disk::per_message(&built, 4096).await
    })
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
