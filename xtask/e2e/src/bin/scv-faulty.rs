//! `scv` over a file system that kills its own process at the n-th durable operation.

use std::{process::ExitCode, sync::Arc};

use scv_e2e::faulty::Faulty;

fn main() -> ExitCode {
    match Faulty::from_env() {
        Ok(system) => scv::main_with(Arc::new(system)),
        Err(problem) => {
            eprintln!("scv-faulty: {problem}");
            ExitCode::from(2)
        }
    }
}
