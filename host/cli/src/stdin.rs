//! Text that is piped in.

use std::io::Read;

use anyhow::{Context as _, bail};

/// Reads all of stdin; `what` names it in errors.
pub(crate) fn read_text(what: &str, max_bytes: usize) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(max_bytes as u64 + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("the {what} could not be read from stdin"))?;
    if bytes.len() > max_bytes {
        bail!(
            "the {what} is longer than {} KiB; put it into a file and name the file",
            max_bytes / 1024
        );
    }
    String::from_utf8(bytes).with_context(|| format!("the {what} is not UTF-8 text"))
}
