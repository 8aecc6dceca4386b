//! Shows a turn: the answer on stdout as it grows, what the agent does on stderr.

use std::io::{self, IsTerminal};

use scv_protocol::ServerEvent;

use crate::{
    args::Color,
    ask, complain,
    stdout::{self, OutputError},
    terminal::{self, harmless, visible},
};

const DIM: &str = "\x1b[2m";
const RESET: &str = "\x1b[0m";

/// Where a turn is shown.
pub(super) struct Screen {
    json: bool,
    colour: bool,
    /// A person reads stdout, so the text must not play tricks on the terminal.
    stdout_is_terminal: bool,
    /// What was shown of the message under way.
    shown: usize,
    /// Whether the cursor stands behind text without a newline.
    open_line: bool,
}

impl Screen {
    pub(super) fn new(json: bool, colour: Color) -> Self {
        Self {
            json,
            colour: terminal::stderr_colour(colour),
            stdout_is_terminal: io::stdout().is_terminal(),
            shown: 0,
            open_line: false,
        }
    }

    /// Shows an event.
    pub(super) fn event(&mut self, event: &ServerEvent) -> anyhow::Result<()> {
        if self.json {
            let line = serde_json::to_string(event)?;
            return Ok(stdout::write(format!("{line}\n").as_bytes())?);
        }
        match event {
            ServerEvent::AssistantDelta { content, .. } => {
                self.shown += content.len();
                self.text(content)?;
            }
            ServerEvent::AssistantCompleted { content, .. } => {
                // What a server did not stream is shown now.
                let rest = content.get(self.shown..).unwrap_or_default();
                self.text(rest)?;
                self.end_line()?;
                self.shown = 0;
            }
            ServerEvent::ToolProposed { name, arguments, .. } => {
                self.note(&format!("{name} {arguments}"))
            }
            ServerEvent::ToolCompleted { name, success: false, output, .. } => {
                self.note(&format!("{name} failed: {}", first_line(output)))
            }
            ServerEvent::TurnCancelled { .. } => self.note("cancelled"),
            _ => {}
        }
        if event.is_terminal() {
            self.end_line()?;
        }
        Ok(())
    }

    /// Asks on stderr; the answer is typed behind it.
    pub(super) fn ask(&self, summary: &str) {
        ask(&format!("{}\nAllow it? [y/N] ", visible(summary)));
    }

    /// Says something beside the answer.
    pub(super) fn note(&mut self, text: &str) {
        let _ = self.end_line();
        let text = visible(text);
        if self.colour {
            complain(&format!("{DIM}{text}{RESET}"));
        } else {
            complain(&text);
        }
    }

    fn text(&mut self, text: &str) -> Result<(), OutputError> {
        if text.is_empty() {
            return Ok(());
        }
        self.open_line = !text.ends_with('\n');
        if self.stdout_is_terminal {
            return stdout::write(harmless(text).as_bytes());
        }
        stdout::write(text.as_bytes())
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        if std::mem::take(&mut self.open_line) {
            stdout::write(b"\n")?;
        }
        Ok(())
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
