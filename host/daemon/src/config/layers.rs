//! Reads configuration files and puts one over the other.

use std::{
    fs::OpenOptions,
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;
use serde::Deserialize;
use toml::{Table, Value};

use super::{ConfigError, file::ConfigFile};
use crate::limits::MAX_CONFIG_BYTES;

const READABLE_BY_OTHERS: u32 = 0o077;

/// A file's values, checked key by key.
pub(super) fn read(path: &Path) -> Result<Option<Table>, ConfigError> {
    let Some((text, mode)) = load(path)? else {
        return Ok(None);
    };
    let parsed: ConfigFile = toml::from_str(&text).map_err(|error| at(path, &text, &error))?;
    if parsed.holds_keys() && mode & READABLE_BY_OTHERS != 0 {
        return Err(ConfigError::Readable { path: path.to_owned(), mode: mode & 0o777 });
    }
    let table = toml::from_str(&text).map_err(|error| at(path, &text, &error))?;
    Ok(Some(table))
}

/// The typed values of merged tables; each was checked by [`read`] before.
pub(super) fn typed(merged: Table) -> Result<ConfigFile, ConfigError> {
    ConfigFile::deserialize(Value::Table(merged))
        .map_err(|error| ConfigError::Value { problem: without_value(error.message()) })
}

/// Puts `upper` over `lower`: tables key by key, anything else as a whole.
pub(super) fn merge(lower: &mut Table, upper: Table) {
    for (key, value) in upper {
        match (lower.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => merge(below, above),
            (_, value) => {
                lower.insert(key, value);
            }
        }
    }
}

fn load(path: &Path) -> Result<Option<(String, u32)>, ConfigError> {
    let failed = |source| ConfigError::Read { path: path.to_owned(), source };
    // Opening a pipe that nobody writes to would wait for ever.
    let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(nonblocking).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(failed)?,
    };
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(failed(io::Error::other("it is not a regular file")));
    }
    let mut text = String::new();
    file.take(MAX_CONFIG_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_CONFIG_BYTES {
        return Err(failed(io::Error::other("the file is larger than 1 MiB")));
    }
    Ok(Some((text, metadata.mode())))
}

fn at(path: &Path, text: &str, error: &toml::de::Error) -> ConfigError {
    let start = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
    ConfigError::Place { path: PathBuf::from(path), line, problem: without_value(error.message()) }
}

/// serde quotes a value that it did not expect, and the value may be a key.
fn without_value(message: &str) -> String {
    let message = message.lines().next().unwrap_or_default();
    match (message.split_once(": "), message.split_once(", expected ")) {
        (Some((kind, _)), Some((_, expected))) if kind.starts_with("invalid ") => {
            format!("{kind}, expected {expected}")
        }
        _ => message.to_owned(),
    }
}
