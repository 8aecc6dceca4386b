//! Tells the SDK which compiler, target and profile it is built with, for `built_with`.

use std::{env, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=SCV_BUILT_RUSTC={}", rustc_version());
    println!("cargo::rustc-env=SCV_BUILT_TARGET={}", variable("TARGET"));
    println!("cargo::rustc-env=SCV_BUILT_PROFILE={}", variable("PROFILE"));
}

/// `1.95.0`; empty when the compiler does not say.
fn rustc_version() -> String {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    plain(text.split_whitespace().nth(1).unwrap_or_default())
}

fn variable(name: &str) -> String {
    plain(&env::var(name).unwrap_or_default())
}

/// The value goes into a JSON string as it is, so nothing in it may need an escape.
fn plain(text: &str) -> String {
    let allowed = |c: &char| c.is_ascii_alphanumeric() || "-._".contains(*c);
    text.chars().filter(allowed).collect()
}
