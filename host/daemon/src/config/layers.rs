//! Reads configuration files, and puts one over the other.

use std::{
    collections::BTreeMap,
    fs::OpenOptions,
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;
use serde::Deserialize;
use toml::{
    Spanned, Table, Value,
    de::{DeTable, DeValue},
};

use super::{ConfigError, file::ConfigFile};
use crate::limits::MAX_CONFIG_BYTES;

const READABLE_BY_OTHERS: u32 = 0o077;

/// The values of one file.
pub(super) struct Layer {
    pub(super) path: PathBuf,
    pub(super) table: Table,
    /// Where each value stands, by its dotted key.
    pub(super) lines: BTreeMap<String, usize>,
}

/// A file's values, checked key by key; none when there is no file.
pub(super) fn read(path: &Path) -> Result<Option<Layer>, ConfigError> {
    let Some((text, mode)) = load(path)? else {
        return Ok(None);
    };
    let wrong = |lines: &Lines, error| lines.place(path, &error);
    let lines = DeTable::parse(&text).map_err(|error| wrong(&Lines::of(&text), error))?;
    let lines = Lines { values: values(lines.get_ref()), text: &text };
    let parsed: ConfigFile = toml::from_str(&text).map_err(|error| wrong(&lines, error))?;
    if parsed.holds_keys() && mode & READABLE_BY_OTHERS != 0 {
        return Err(ConfigError::Readable { path: path.to_owned(), mode: mode & 0o777 });
    }
    let table = toml::from_str(&text).map_err(|error| wrong(&lines, error))?;
    Ok(Some(Layer { path: path.to_owned(), table, lines: lines.by_key() }))
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

/// Every value of a table that is none itself, by its dotted key, in the table's order.
pub(super) fn flat(table: &Table) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    push_flat(&mut found, "", table);
    found
}

fn push_flat<'a>(found: &mut Vec<(String, &'a Value)>, above: &str, table: &'a Table) {
    for (name, value) in table {
        let key = dotted(above, name);
        match value {
            Value::Table(below) => push_flat(found, &key, below),
            value => found.push((key, value)),
        }
    }
}

/// A key as it is written in TOML.
fn dotted(above: &str, name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let name = match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => Value::from(name).to_string(),
    };
    match above {
        "" => name,
        above => format!("{above}.{name}"),
    }
}

/// A text and where its values stand.
struct Lines<'a> {
    text: &'a str,
    /// Dotted keys with the bytes from the key to the end of its value.
    values: Vec<(String, std::ops::Range<usize>)>,
}

impl<'a> Lines<'a> {
    const fn of(text: &'a str) -> Self {
        Self { text, values: Vec::new() }
    }

    fn number(&self, byte: usize) -> usize {
        let before = &self.text.as_bytes()[..byte.min(self.text.len())];
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    fn by_key(self) -> BTreeMap<String, usize> {
        let line = |(key, range): &(String, std::ops::Range<usize>)| {
            (key.clone(), self.number(range.start))
        };
        self.values.iter().map(line).collect()
    }

    /// The error with its file, its line and, where it is about a value, its key.
    fn place(&self, path: &Path, error: &toml::de::Error) -> ConfigError {
        let start = error.span().map_or(0, |span| span.start);
        let message = without_value(error.message());
        let key = self.values.iter().find(|(_, range)| range.contains(&start));
        let problem = match key {
            Some((key, _)) if !message.starts_with("unknown field") => format!("{key}: {message}"),
            _ => message,
        };
        ConfigError::Place { path: path.to_owned(), line: self.number(start), problem }
    }
}

fn values(table: &DeTable<'_>) -> Vec<(String, std::ops::Range<usize>)> {
    let mut found = Vec::new();
    push_values(&mut found, "", table);
    found
}

fn push_values(
    found: &mut Vec<(String, std::ops::Range<usize>)>,
    above: &str,
    table: &DeTable<'_>,
) {
    for (name, value) in table {
        let key = dotted(above, name.get_ref());
        match Spanned::get_ref(value) {
            DeValue::Table(below) => push_values(found, &key, below),
            _ => found.push((key, name.span().start..value.span().end)),
        }
    }
}

fn load(path: &Path) -> Result<Option<(String, u32)>, ConfigError> {
    let failed = |source| ConfigError::Read { path: path.to_owned(), source };
    // Opening a pipe that nobody writes to would wait for ever.
    let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(nonblocking).open(path) {
        Err(error) if is_absent(&error) => return Ok(None),
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

/// Nothing is there, or what should be its folder is none.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
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
