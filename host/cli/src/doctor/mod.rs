//! `scv doctor`: looks at everything that an answer depends on, and says what to do about what
//! is wrong. It changes nothing, and asks nobody outside of this machine.

mod accounts;
mod home;
mod plugins;
mod provider;
mod running;

use std::sync::Arc;

use scv_bridge::fs::FileSystem;
use serde::Serialize;

use crate::{args::DoctorArgs, context::Context, exit::Exit, say, terminal::harmless};

/// What one look found.
#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    state: State,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Ok,
    /// Nothing is wrong, and it may still surprise.
    Note,
    Wrong,
}

pub(crate) async fn run(
    context: &Context,
    args: DoctorArgs,
    fs: Arc<dyn FileSystem>,
) -> anyhow::Result<Exit> {
    let mut findings = home::look(&context.home);
    let (daemon, found) = running::look(context).await;
    findings.push(found);
    findings.extend(provider::look(context));
    findings.extend(running::config(context, daemon.as_ref()));
    findings.extend(plugins::pins(context));
    findings.extend(plugins::look(context, &args.plugins, daemon.as_ref()));
    findings.extend(accounts::look(context, fs, daemon.as_ref()));
    if args.json.json {
        say(&serde_json::to_string(&findings)?);
    } else {
        findings.iter().for_each(|finding| say(&harmless(&finding.line())));
    }
    let is_well = findings.iter().all(|finding| finding.state != State::Wrong);
    Ok(if is_well { Exit::Done } else { Exit::Failed })
}

impl Finding {
    fn ok(check: &'static str, text: impl Into<String>) -> Self {
        Self { check, state: State::Ok, text: text.into(), fix: None }
    }

    fn note(check: &'static str, text: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, state: State::Note, text: text.into(), fix: Some(fix.into()) }
    }

    fn wrong(check: &'static str, text: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, state: State::Wrong, text: text.into(), fix: Some(fix.into()) }
    }

    /// From an error whose text ends with what to do: "what; what to do".
    fn error(check: &'static str, error: &anyhow::Error) -> Self {
        let text = format!("{error:#}");
        match text.rsplit_once("; ") {
            Some((what, fix)) => Self::wrong(check, what, fix),
            None => Self { check, state: State::Wrong, text, fix: None },
        }
    }

    fn line(&self) -> String {
        let state = match self.state {
            State::Ok => "ok",
            State::Note => "note",
            State::Wrong => "WRONG",
        };
        let fix = self.fix.as_ref().map(|fix| format!("; {fix}")).unwrap_or_default();
        format!("{state:5}  {:8}  {}{fix}", self.check, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_it_is_and_what_to_do() {
        assert_eq!(Finding::ok("home", "fine").line(), "ok     home      fine");
        let error = anyhow::anyhow!("it leaks; and drips; call a plumber");
        let finding = Finding::error("plugins", &error);
        assert_eq!(finding.line(), "WRONG  plugins   it leaks; and drips; call a plumber");
        assert_eq!(finding.fix.as_deref(), Some("call a plumber"));
    }
}
