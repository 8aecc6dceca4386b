//! `scv plugins path`: where plugins are looked for.

use scv_plugin_host::{SearchedDir, searched_dirs};
use serde_json::{Value, json};

use super::args::PathArgs;
use crate::{context::Context, exit::Exit, say, terminal::harmless};

pub(super) fn run(context: &Context, args: PathArgs) -> anyhow::Result<Exit> {
    let config = context.plugins_config()?;
    let search = context.search(&args.plugins, &config)?;
    let mut dirs = searched_dirs(&search);
    dirs.retain(|dir| dir.exists || args.all);
    if args.json.json {
        say(&Value::from_iter(dirs.iter().map(value)).to_string());
    } else if dirs.is_empty() {
        say("no folder with plugins is there; --all shows where they are looked for");
    } else {
        dirs.iter().for_each(|dir| say(&harmless(&line(dir))));
    }
    Ok(Exit::Done)
}

fn value(dir: &SearchedDir) -> Value {
    json!({
        "dir": dir.dir,
        "exists": dir.exists,
        "needs_pins": dir.needs_pins,
        "ok": dir.exists && dir.refusal.is_none(),
        "reason": dir.refusal.as_ref().map(|refusal| &refusal.reason),
        "fix": dir.refusal.as_ref().map(|refusal| &refusal.fix),
    })
}

fn line(dir: &SearchedDir) -> String {
    let path = dir.dir.display();
    match &dir.refusal {
        _ if !dir.exists => format!("none  {path}"),
        Some(refusal) => format!("FAIL  {path}: {}; {}", refusal.reason, refusal.fix),
        None if dir.needs_pins => format!("ok    {path} (only what `scv plugins add` put there)"),
        None => format!("ok    {path}"),
    }
}
