//! The person at the terminal: lines they type, and text that cannot play tricks on them.

use std::{
    io::{self, BufRead, IsTerminal},
    os::fd::AsFd,
    sync::OnceLock,
};

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use tokio::sync::{Mutex, mpsc};

use crate::args::Color;

/// Lines of stdin. One thread reads them for the whole process, because a read of stdin
/// cannot be cancelled: a question that was withdrawn must not swallow the next answer.
static LINES: OnceLock<Mutex<mpsc::Receiver<String>>> = OnceLock::new();

/// The next line without its newline; none at the end of stdin.
pub(crate) async fn line() -> Option<String> {
    let lines = LINES.get_or_init(|| {
        let (sender, receiver) = mpsc::channel(1);
        std::thread::spawn(move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Mutex::new(receiver)
    });
    lines.lock().await.recv().await
}

/// As [`line`], without showing on a terminal what is typed.
pub(crate) async fn hidden_line() -> Option<String> {
    let _hidden = Hidden::begin();
    let answer = line().await;
    crate::complain("");
    answer
}

/// Turns the terminal's echo off until it is dropped.
struct Hidden(rustix::termios::Termios);

impl Hidden {
    fn begin() -> Option<Self> {
        let stdin = io::stdin();
        let before = tcgetattr(stdin.as_fd()).ok()?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(stdin.as_fd(), OptionalActions::Now, &silent).ok()?;
        Some(Self(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &self.0);
    }
}

/// Whether a person can be asked.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Whether stdout takes colour.
pub(crate) fn stdout_colour(when: Color) -> bool {
    colour(when, io::stdout().is_terminal())
}

/// Whether stderr takes colour.
pub(crate) fn stderr_colour(when: Color) -> bool {
    colour(when, io::stderr().is_terminal())
}

fn colour(when: Color, terminal: bool) -> bool {
    // https://no-color.org (2026-11-30): any value but an empty one.
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match when {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => terminal && !forbidden,
    }
}

/// The text without control characters, so that it cannot move the cursor or set a title, nor
/// turn around the order in which it is read.
pub(crate) fn harmless(text: &str) -> String {
    let plays_tricks = |c: &char| is_control(*c) || turns_text(*c);
    text.chars().filter(|c| !plays_tricks(c)).collect()
}

/// The text with everything that cannot be seen written out: for what a person decides about.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_control(c) || turns_text(c) || is_invisible(c) {
            true => shown.extend(c.escape_unicode()),
            false => shown.push(c),
        }
    }
    shown
}

fn is_control(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
}

/// The overrides, embeddings and isolates of Unicode's bidirectional algorithm.
const fn turns_text(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Marks, joiners and tags without a glyph, and the two separators that end a line.
const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}' | '\u{2029}'
            | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_removed() {
        assert_eq!(harmless("a\x1b[2Jb\r\n\tc\u{9b}d\x07\u{202e}e"), "a[2Jb\n\tcde");
    }

    #[test]
    fn what_a_person_decides_about_hides_nothing() {
        let shown = visible("rm x\u{8}\u{202e}y\u{200b}\u{e0041}\n\u{e4}");
        assert_eq!(shown, "rm x\\u{8}\\u{202e}y\\u{200b}\\u{e0041}\n\u{e4}");
    }

    #[test]
    fn colour_follows_the_flag() {
        assert!(colour(Color::Always, false));
        assert!(!colour(Color::Never, true));
        assert!(!colour(Color::Auto, false));
    }
}
