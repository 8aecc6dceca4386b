//! What a sign-in shows and asks, on a terminal or a pipe.

use std::sync::Mutex;

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
    /// The link that was shown last, so that none is shown twice in a row.
    link: Mutex<Option<String>>,
}

impl Terminal {
    pub(super) fn new(colour: Color) -> Self {
        Self { colour: terminal::stdout_colour(colour), link: Mutex::default() }
    }

    async fn show(&self, event: LoginEventBody) -> PromptAnswer {
        match event {
            LoginEventBody::Qr { data, text, .. } => self.code(data.expose(), text.as_deref()),
            LoginEventBody::Link { url, text } => {
                say_unless_empty(&text);
                self.link(url.expose());
            }
            LoginEventBody::Progress { text } | LoginEventBody::Notice { text } => {
                say_unless_empty(&text);
            }
            LoginEventBody::Prompt { text, secret, kind, choices, .. } => {
                return ask(&text, secret, kind, &choices).await;
            }
            LoginEventBody::Unknown => {}
        }
        PromptAnswer::default()
    }

    fn code(&self, data: &str, text: Option<&str>) {
        say_unless_empty(text.unwrap_or("Scan this code with your phone:"));
        match qr::draw(data, self.colour) {
            Some(code) => say(&code),
            None => say("(the code is too large to draw; open the link instead)"),
        }
        self.link(data);
    }

    /// A link as text, for whoever cannot scan.
    fn link(&self, url: &str) {
        let mut shown = self.link.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if url.starts_with("http") && shown.as_deref() != Some(url) {
            say(&harmless(url));
            *shown = Some(url.to_owned());
        }
    }
}

fn say_unless_empty(text: &str) {
    if !text.is_empty() {
        say(&harmless(text));
    }
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
