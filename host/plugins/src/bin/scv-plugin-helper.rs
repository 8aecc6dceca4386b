//! What `scv` does when it is started as a child of a plugin host, and nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    scv_plugin_host::run_helper(std::env::args_os()).unwrap_or(ExitCode::FAILURE)
}
