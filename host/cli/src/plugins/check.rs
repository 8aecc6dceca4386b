//! `scv plugins check`: a line for each step of loading.

use scv_daemon::{plugin_options, prepare_home};
use scv_plugin_host::{CheckedStep, check, intruders};
use serde_json::json;

use super::args::CheckArgs;
use crate::{context::Context, exit::Exit, say, terminal::harmless};

pub(super) async fn run(context: &Context, args: CheckArgs) -> anyhow::Result<Exit> {
    let config = context.plugins_config()?;
    let search = context.search(&args.plugins, &config)?;
    prepare_home(&context.home)?;
    let options = plugin_options(&context.home, search, &config);
    let steps = check(&options, &args.name).await?;
    let is_good = steps.iter().all(|step| step.ok);
    let warnings: Vec<_> = intruders().iter().map(|name| warning(name)).collect();
    if args.json.json {
        let name = args.name;
        let answer = json!({"name": name, "ok": is_good, "steps": steps, "warnings": warnings});
        say(&answer.to_string());
    } else {
        steps.iter().for_each(|step| say(&harmless(&line(step))));
        warnings.iter().for_each(|warning| say(&format!("warn  {warning}")));
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

fn warning(variable: &str) -> String {
    format!("{variable} is set: it can put other code into every process; unset it")
}
