//! A workspace's own file: it comes with the project, so it may only make things tighter.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use scv_agent::AgentConfig;
use serde::Deserialize;
use toml::{Table, Value};

use super::{
    ApprovalPolicy, ConfigError, agent,
    file::ConfigFile,
    layers::{self, Layer, flat},
};

/// Its place below the workspace.
const FILE: &str = ".scv/config.toml";

/// In which direction a key gets tighter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tighter {
    Lower,
    Higher,
    Stricter,
}

/// Every key that a workspace may set.
const KEYS: [(&str, Tighter); 14] = [
    ("agent.max_steps", Tighter::Lower),
    ("tools.approval_policy", Tighter::Stricter),
    ("tools.command_timeout_seconds", Tighter::Lower),
    ("tools.agent_timeout_seconds", Tighter::Lower),
    ("tools.max_timeout_seconds", Tighter::Lower),
    ("tools.output_limit_bytes", Tighter::Lower),
    ("tools.max_read_bytes", Tighter::Lower),
    ("tools.max_write_bytes", Tighter::Lower),
    ("context.max_tokens", Tighter::Lower),
    ("context.reserve_output_tokens", Tighter::Higher),
    ("context.safety_margin_tokens", Tighter::Higher),
    ("context.bytes_per_token", Tighter::Lower),
    ("session.max_history_bytes", Tighter::Lower),
    ("session.max_messages", Tighter::Lower),
];

/// The tables that those keys are in.
const TABLES: [&str; 4] = ["agent", "tools", "context", "session"];

/// What the other layers say about the keys that a workspace may set, so that the file of a
/// session's folder can be put between them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bounds {
    home: PathBuf,
    below: Table,
    above: Table,
}

impl Bounds {
    /// Layers below a workspace's file, and those above it.
    pub(super) fn new(home: PathBuf, below: &Table, above: &Table) -> Self {
        Self { home, below: only_bounds(below), above: only_bounds(above) }
    }

    /// The configuration for sessions in this folder; none when the folder says nothing.
    ///
    /// # Errors
    /// [`ConfigError`], naming the file from the workspace on.
    pub(crate) fn within(
        &self,
        folder: &Path,
        base: &AgentConfig,
    ) -> Result<Option<AgentConfig>, ConfigError> {
        let layer = read(folder, &self.home, &self.below);
        let Some(layer) = layer.map_err(|error| error.seen_from(folder))? else {
            return Ok(None);
        };
        let mut merged = self.below.clone();
        layers::merge(&mut merged, layer.table);
        layers::merge(&mut merged, self.above.clone());
        let file = layers::typed(merged)?;
        agent::bounded(base.clone(), &file).map(Some)
    }
}

fn only_bounds(table: &Table) -> Table {
    let kept = table.iter().filter(|(name, _)| TABLES.contains(&name.as_str()));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Reads and checks the file of a workspace; none where there is none, or where it is the
/// home's own, as in a person's home folder.
pub(super) fn read(
    folder: &Path,
    home: &Path,
    below: &Table,
) -> Result<Option<Layer>, ConfigError> {
    let path = folder.join(FILE);
    let (Some(place), home) = (path.parent(), home.canonicalize()) else {
        return Ok(None);
    };
    if home.is_ok_and(|home| place.canonicalize().is_ok_and(|place| place == home)) {
        return Ok(None);
    }
    let Some(layer) = layers::read(&path)? else {
        return Ok(None);
    };
    let below = layers::typed(below.clone())?;
    check(&layer, &below)?;
    Ok(Some(layer))
}

/// Whether every value is one that a workspace may set, and is no looser than what is below.
fn check(layer: &Layer, below: &ConfigFile) -> Result<(), ConfigError> {
    let place = |key: &str, problem: String| ConfigError::Place {
        path: layer.path.clone(),
        line: layer.lines.get(key).copied().unwrap_or(1),
        problem,
    };
    let below = Table::try_from(below).unwrap_or_default();
    let below: BTreeMap<_, _> = flat(&below).into_iter().collect();
    for (key, value) in flat(&layer.table) {
        let Some((_, tighter)) = KEYS.iter().find(|(name, _)| *name == key) else {
            let text = "a workspace cannot set it; write it into the config.toml of scv's home";
            return Err(place(&key, format!("{key}: {text}")));
        };
        if let Some(bound) = below.get(&key).filter(|bound| is_looser(value, bound, *tighter)) {
            let how = match tighter {
                Tighter::Lower => "lower it",
                Tighter::Higher => "raise it",
                Tighter::Stricter => "make it stricter",
            };
            return Err(place(&key, format!("{key}: a workspace can only {how}; it is {bound}")));
        }
    }
    Ok(())
}

fn is_looser(value: &Value, bound: &Value, tighter: Tighter) -> bool {
    match tighter {
        Tighter::Lower => value.as_integer() > bound.as_integer(),
        Tighter::Higher => value.as_integer() < bound.as_integer(),
        Tighter::Stricter => policy(value) < policy(bound),
    }
}

fn policy(value: &Value) -> Option<ApprovalPolicy> {
    ApprovalPolicy::deserialize(value.clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_tables_has_its_direction() {
        let all = Table::try_from(ConfigFile::default()).unwrap();
        let kept = only_bounds(&all);
        let keys: Vec<_> = flat(&kept).into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys.len(), KEYS.len());
        assert!(KEYS.iter().all(|(key, _)| keys.iter().any(|found| found == key)), "{keys:?}");
    }
}
