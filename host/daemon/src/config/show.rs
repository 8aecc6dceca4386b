//! What is in effect, value by value, and where each value comes from.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use toml::{Table, Value};

use super::{
    ConfigError, ConfigSources, Layers, agent,
    file::{ConfigFile, ProviderKind},
    layers::{self, Layer, flat},
    merged, workspace,
};

/// One value in effect.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Dotted, as TOML writes it.
    pub key: String,
    /// A secret is masked.
    pub value: Value,
    /// Where it comes from.
    pub source: Source,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Nobody has set it.
    Default,
    /// A file.
    File {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
    },
    /// A flag or an environment variable.
    Given(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Given(by) => f.write_str(by),
        }
    }
}

/// Everything that is in effect for a session in `workspace`.
///
/// # Errors
/// [`ConfigError`], with file and line where there is one.
pub fn effective(
    sources: &ConfigSources,
    workspace: &Path,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Setting>, ConfigError> {
    let layers = Layers::read(sources)?;
    let below = layers.below();
    let inside = workspace::read(workspace, &sources.home, &below)?;
    let table = inside.as_ref().map(|layer| layer.table.clone()).unwrap_or_default();
    let mut file = layers::typed(merged([below, table, layers.above()]))?;
    agent::settle(&mut file, &sources.overrides, &env)?;
    // Only for what it refuses.
    agent::config(&file, env)?;
    let mut known = BTreeMap::new();
    for layer in [&layers.home, &inside, &layers.named].into_iter().flatten() {
        known.extend(from_file(layer));
    }
    known.extend(given(sources, &file));
    Ok(settings(&file, &known))
}

fn from_file(layer: &Layer) -> impl Iterator<Item = (String, Source)> {
    layer
        .lines
        .iter()
        .map(|(key, line)| (key.clone(), Source::File { path: layer.path.clone(), line: *line }))
}

fn given(sources: &ConfigSources, file: &ConfigFile) -> Vec<(String, Source)> {
    let overrides = &sources.overrides;
    let active = file.provider.active.clone().unwrap_or_default();
    let of_active = |name: &str| {
        let table = Table::from_iter([(name.to_owned(), Value::from(0))]);
        let table = Table::from_iter([(active.clone(), Value::from(table))]);
        let table = Table::from_iter([("providers".to_owned(), Value::from(table))]);
        flat(&table).into_iter().map(|(key, _)| key).collect::<String>()
    };
    [
        overrides.provider.as_ref().map(|given| ("provider.active".to_owned(), given.by)),
        overrides.model.as_ref().map(|given| (of_active("model"), given.by)),
        overrides.base_url.as_ref().map(|given| (of_active("base_url"), given.by)),
        overrides.approval_policy.as_ref().map(|given| ("tools.approval_policy".into(), given.by)),
    ]
    .into_iter()
    .flatten()
    .map(|(key, by)| (key, Source::Given(by)))
    .collect()
}

/// The values that mean something: `echo` reaches no server.
fn shown(file: &ConfigFile) -> Table {
    let mut table = Table::try_from(file).unwrap_or_default();
    let Some(Value::Table(providers)) = table.get_mut("providers") else {
        return table;
    };
    for (name, provider) in providers {
        let is_echo = file.providers.get(name).is_some_and(|p| p.kind == ProviderKind::Echo);
        if let (true, Value::Table(keys)) = (is_echo, provider) {
            keys.retain(|key, _| key == "kind");
        }
    }
    table
}

fn settings(file: &ConfigFile, known: &BTreeMap<String, Source>) -> Vec<Setting> {
    let table = shown(file);
    let setting = |(key, value): (String, &Value)| {
        let source = known.get(&key).cloned().unwrap_or(Source::Default);
        Setting { source, value: value.clone(), key }
    };
    flat(&table).into_iter().map(setting).collect()
}
