//! `scv config`: what is in effect, a file to begin with, and where it is.

use std::env;

use anyhow::Context as _;
use scv_daemon::{Setting, config_path, effective, init_config};
use serde::Serialize;

use crate::{
    args::{ConfigCommand, JsonArgs},
    context::{Context, wrong},
    exit::Exit,
    say,
    terminal::harmless,
};

/// What `--json` prints of each value.
#[derive(Serialize)]
struct Shown {
    key: String,
    value: toml::Value,
    source: String,
}

pub(crate) fn run(context: &Context, command: ConfigCommand) -> anyhow::Result<Exit> {
    match command {
        ConfigCommand::Show(args) => show(context, args),
        ConfigCommand::Init => init(context),
        ConfigCommand::Path => {
            say(&config_path(&context.home).display().to_string());
            Ok(Exit::Done)
        }
    }
}

fn show(context: &Context, args: JsonArgs) -> anyhow::Result<Exit> {
    let folder = env::current_dir().context("the current folder cannot be read")?;
    let settings =
        effective(&context.sources(), &folder, |name| env::var(name).ok()).map_err(wrong)?;
    if args.json {
        let shown: Vec<_> = settings.into_iter().map(Shown::from).collect();
        say(&serde_json::to_string(&shown)?);
        return Ok(Exit::Done);
    }
    let lines = settings.iter().map(|setting| format!("{} = {}", setting.key, setting.value));
    let lines: Vec<_> = lines.collect();
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or_default();
    for (line, setting) in lines.iter().zip(&settings) {
        say(&harmless(&format!("{line:width$}  # {}", setting.source)));
    }
    Ok(Exit::Done)
}

fn init(context: &Context) -> anyhow::Result<Exit> {
    let path = init_config(&context.home)?;
    say(&format!("wrote {}; every line in it is a comment until you change it", path.display()));
    Ok(Exit::Done)
}

impl From<Setting> for Shown {
    fn from(setting: Setting) -> Self {
        Self { key: setting.key, value: setting.value, source: setting.source.to_string() }
    }
}
