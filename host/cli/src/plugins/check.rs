//! `scv plugins check`: a line for each step of loading.

use scv_daemon::{plugin_options, prepare_home};
use scv_plugin_host::{Checked, CheckedStep, check, intruders};
use serde_json::json;

use super::args::CheckArgs;
use crate::{context::Context, exit::Exit, say, terminal::harmless};

pub(super) async fn run(context: &Context, args: CheckArgs) -> anyhow::Result<Exit> {
    let config = context.plugins_config()?;
    let search = context.search(&args.plugins, &config)?;
    prepare_home(&context.home)?;
    let options = plugin_options(&context.home, search, &config);
    let Checked { steps, foreign_libraries } = check(&options, &args.name).await?;
    let is_good = steps.iter().all(|step| step.ok);
    let intruders = intruders().into_iter().map(intruder);
    let warnings: Vec<_> =
        intruders.chain(foreign_libraries.iter().map(|name| foreign(name))).collect();
    if args.json.json {
        let name = args.name;
        let answer = json!({"name": name, "ok": is_good, "steps": steps, "warnings": warnings});
        say(&answer.to_string());
    } else {
        steps.iter().for_each(|step| say(&harmless(&line(step))));
        warnings.iter().for_each(|warning| say(&harmless(&format!("warn  {warning}"))));
    }
    Ok(if is_good { Exit::Done } else { Exit::Failed })
}

fn line(step: &CheckedStep) -> String {
    let CheckedStep { step, ok, text, fix } = step;
    match fix {
        Some(fix) if !ok => format!("FAIL  {step}: {text}; {fix}"),
        _ => format!("ok    {step}: {text}"),
    }
}

fn intruder(variable: &str) -> String {
    format!("{variable} is set: it can put other code into every process; unset it")
}

fn foreign(library: &str) -> String {
    format!("it needs {library}, which nobody checks and another machine may not have; link it in")
}
