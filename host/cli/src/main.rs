//! The `scv` binary: the commands over the real file system.

use std::{process::ExitCode, sync::Arc};

use scv_bridge::fs::RealFileSystem;

fn main() -> ExitCode {
    scv::main_with(Arc::new(RealFileSystem))
}
