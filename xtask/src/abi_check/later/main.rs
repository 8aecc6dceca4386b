//! The host of a later version: `later-host FILE CREDENTIALS`.

use std::{env, path::Path, process::ExitCode};

use scv_plugin_api::{testkit::check_session, wire::CreateConfig};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().collect();
    let [_, file, credentials] = &arguments[..] else {
        eprintln!("later-host FILE CREDENTIALS");
        return ExitCode::FAILURE;
    };
    let mut config = CreateConfig::default();
    config.later.insert("deep".into(), serde_json::json!([1, { "x": null }]));
    let Ok(credentials) = serde_json::from_str(credentials) else {
        eprintln!("the credentials are no JSON");
        return ExitCode::FAILURE;
    };
    let report = check_session(Path::new(file), &config, &credentials);
    println!("{report}");
    if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
