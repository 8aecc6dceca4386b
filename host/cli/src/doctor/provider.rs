//! The configuration, and who answers by it.

use scv_daemon::{Answering, effective};

use super::Finding;
use crate::context::{Context, wrong};

pub(super) fn look(context: &Context) -> Vec<Finding> {
    let config = match context.config() {
        Ok(config) => config,
        Err(error) => return vec![Finding::error("config", &error)],
    };
    vec![folder(context), provider(&config.answering())]
}

/// The files of the home and of the current folder.
fn folder(context: &Context) -> Finding {
    let here = std::env::current_dir().unwrap_or_default();
    match effective(&context.sources(), &here, |name| std::env::var(name).ok()) {
        Ok(_) => Finding::ok("config", "it is right; `scv config show` prints it"),
        Err(error) => Finding::error("config", &wrong(error)),
    }
}

fn provider(answering: &Answering) -> Finding {
    let Answering { provider, model, server, has_key, exposes_key } = answering;
    let Some(server) = server else {
        let text = "echo answers: no model is configured, so answers repeat the question";
        let fix = "set OPENAI_API_KEY, or name a model in the file that `scv config init` writes";
        return Finding::note("provider", text, fix);
    };
    let text = format!("{provider} answers with {model} at {server}");
    match (has_key, server.contains("api.openai.com")) {
        (false, true) => {
            let text = format!("{text}, which needs a key and has none");
            Finding::wrong("provider", text, "set the variable that api_key_env names, or api_key")
        }
        (false, false) => Finding::ok("provider", format!("{text}, without a key")),
        (true, _) if *exposes_key => Finding::note(
            "provider",
            format!("{text}, and sends its key there unencrypted"),
            "use an https address, or name a variable in api_key_env that holds a key for this server alone",
        ),
        (true, _) => Finding::ok("provider", text),
    }
}
