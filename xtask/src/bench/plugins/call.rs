//! One whole typed call of a plugin that does nothing but answer.

use anyhow::Result;
use serde::Deserialize;

use super::{
    super::{one_core::OneCore, row},
    cost,
};
use crate::harness::{Built, Home};

/// The middle of many calls one after the other.
#[derive(Deserialize)]
struct Calls {
    /// The documents go to a task of another runtime, and nobody reads or writes JSON.
    task_us: f64,
    in_process_us: f64,
    child_us: f64,
}

/// From the typed message to the typed outcome, in both forms, on one core.
pub(in crate::bench) async fn call(built: &Built) -> Result<()> {
    let _one_core = OneCore::enter()?;
    let home = Home::new(built)?;
    let folder = home.folder_with(&built.library("scv_channel_fixture"))?;
    let user = home.user();
    let arguments = ["call".as_ref(), folder.as_os_str(), user.as_os_str()];
    let Calls { task_us, in_process_us, child_us } = cost(built, arguments).await?;
    row(
        "a call in process",
        &format!("{in_process_us:.1} µs"),
        &format!("{:.2} × its JSON to a task of another runtime", in_process_us / task_us),
    );
    row(
        "the same call to a child",
        &format!("{child_us:.1} µs"),
        &format!("{:.2} × in process", child_us / in_process_us),
    );
    Ok(())
}
