//! What a sign-in shows and asks, on a terminal or a pipe.

use scv_plugin_api::{
    host::{BoxFuture, LoginEvents},
    wire::{LoginEventBody, PromptAnswer, PromptKind},
};

use crate::{
    args::Color,
    qr, say,
    terminal::{self, harmless},
};

/// The person at this terminal.
pub(super) struct Terminal {
    colour: bool,
}

impl Terminal {
    pub(super) fn new(colour: Color) -> Self {
        Self { colour: terminal::stdout_colour(colour) }
    }

    async fn show(&self, event: LoginEventBody) -> PromptAnswer {
        if let LoginEventBody::Prompt { text, secret, kind, choices, .. } = event {
            return ask(&text, secret, kind, &choices).await;
        }
        shown(&event, self.colour).iter().for_each(|text| say(text));
        PromptAnswer::default()
    }
}

/// What a person sees of an event that asks nothing. A code's data is for the phone; where it
/// is a link to open as well, the plugin sends that link, and it comes under the code.
fn shown(event: &LoginEventBody, colour: bool) -> Vec<String> {
    let mut lines = match event {
        LoginEventBody::Qr { data, text, .. } => vec![
            harmless(text.as_deref().unwrap_or("Scan this code with your phone:")),
            qr::draw(data.expose(), colour)
                .unwrap_or_else(|| "(the code is too large to draw)".to_owned()),
        ],
        LoginEventBody::Link { url, text } => vec![harmless(text), harmless(url.expose())],
        LoginEventBody::Progress { text } | LoginEventBody::Notice { text } => vec![harmless(text)],
        LoginEventBody::Prompt { .. } | LoginEventBody::Unknown => Vec::new(),
    };
    lines.retain(|line| !line.is_empty());
    lines
}

/// Asks until the answer is one of the choices, where there are some.
async fn ask(text: &str, secret: bool, kind: PromptKind, choices: &[String]) -> PromptAnswer {
    loop {
        say(&harmless(text));
        let choice = kind == PromptKind::Choice && !choices.is_empty();
        if choice {
            say(&harmless(&format!("one of: {}", choices.join(", "))));
        }
        let line = match secret {
            true => terminal::hidden_line().await,
            false => terminal::line().await,
        };
        let Some(line) = line else {
            return PromptAnswer { answer: None, cancelled: true };
        };
        let answer = line.trim().to_owned();
        if !choice || choices.contains(&answer) {
            return PromptAnswer { answer: Some(answer.into()), cancelled: false };
        }
    }
}

impl LoginEvents for Terminal {
    fn event(&self, event: LoginEventBody) -> BoxFuture<'_, PromptAnswer> {
        Box::pin(self.show(event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn under_a_code_comes_the_link_s_line_and_then_the_link_once() {
        let link = "https://example.com/x";
        let code = LoginEventBody::Qr {
            data: link.to_owned().into(),
            expires_ms: None,
            text: Some("Scan\x1b[2J this:".into()),
        };
        let open = LoginEventBody::Link { url: link.to_owned().into(), text: "Or open:".into() };
        let drawn = qr::draw(link, false).unwrap();
        let lines = [shown(&code, false), shown(&open, false)].concat();
        assert_eq!(lines, ["Scan[2J this:", &drawn, "Or open:", link]);
    }

    #[test]
    fn what_is_empty_is_no_line() {
        let link = LoginEventBody::Link { url: "u".to_owned().into(), text: String::new() };
        assert_eq!(shown(&link, false), ["u"]);
        assert!(shown(&LoginEventBody::Notice { text: String::new() }, false).is_empty());
    }
}
