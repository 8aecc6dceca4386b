//! Shows a turn: the answer on stdout as it grows, what the agent does on stderr.

use std::io::{self, IsTerminal, Write};

use scv_protocol::ServerEvent;

use crate::{
    args::Color,
    terminal::{self, harmless},
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
            let mut stdout = io::stdout().lock();
            serde_json::to_writer(&mut stdout, event)?;
            return Ok(stdout.write_all(b"\n")?);
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
        eprint!("{}\nAllow it? [y/N] ", harmless(summary));
        let _ = io::stderr().flush();
    }

    /// Says something beside the answer.
    pub(super) fn note(&mut self, text: &str) {
        let _ = self.end_line();
        let text = harmless(text);
        if self.colour {
            eprintln!("{DIM}{text}{RESET}");
        } else {
            eprintln!("{text}");
        }
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.open_line = !text.ends_with('\n');
        let mut stdout = io::stdout().lock();
        if self.stdout_is_terminal {
            stdout.write_all(harmless(text).as_bytes())?;
        } else {
            stdout.write_all(text.as_bytes())?;
        }
        stdout.flush()
    }

    fn end_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.open_line) {
            io::stdout().lock().write_all(b"\n")?;
        }
        Ok(())
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
