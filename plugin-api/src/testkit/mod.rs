//! The conformance kit: what a host relies on, tried against a plugin and its fake platform.
//!
//! The author writes a [`PlatformScript`], the loopback platform that the plugin talks to, and
//!
//! ```ignore
//! scv_plugin_api::conformance!(MyChannel, MyScript);
//! ```
//!
//! in a test. Each case is printed: `ok`, `FAILED` with what was wrong, or `--` with the reason
//! why it does not apply. With the variable `SCV_TEST_PLUGIN` set to a built library, the same
//! cases run over that file in place of the linked code.
//!
//! [`check_file`] is the part that needs no platform, for a file of somebody else. It changes
//! what its process has on stdout, so it belongs into a process of its own.

mod answers;
mod cases;
mod file;
mod limits;
mod memory;
mod panicking;
mod plugin;
mod report;
mod scene;
mod script;
mod session;
mod subject;
mod watch;

use std::{env, path::Path};

pub use file::{check_file, check_session};
pub use report::{CaseReport, Report, Verdict};
pub use script::PlatformScript;
pub use subject::Subject;

use crate::plugin::Exported;

/// Names a built library to be tested in place of the linked code.
pub const FILE_VARIABLE: &str = "SCV_TEST_PLUGIN";

/// Makes a test named `conformance` that runs every case for a channel with its script.
#[macro_export]
macro_rules! conformance {
    ($channel:ty, $script:ty) => {
        #[test]
        fn conformance() -> ::core::result::Result<(), $crate::testkit::Report> {
            $crate::testkit::run::<$channel, $script>(env!("CARGO_PKG_VERSION"))
        }
    };
}

/// Runs every case, over the linked code or over the file that [`FILE_VARIABLE`] names, and
/// prints each on stderr. `version` is that of the plugin's crate.
///
/// # Errors
/// The report, when a case failed.
pub fn run<C: Exported, S: PlatformScript>(version: &str) -> Result<(), Report> {
    let subject = match env::var_os(FILE_VARIABLE) {
        Some(file) => Subject::load(Path::new(&file)),
        None => Ok(Subject::of::<C>()),
    };
    let subject = match subject {
        Ok(subject) => subject,
        Err(reason) => return Report::failed("load", reason).into_result(),
    };
    cases::run::<S>(&subject, version).into_result()
}
