//! The program on a terminal, and with a stderr that does not take what is written.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::fd::OwnedFd,
    process::{Child, Stdio},
};

use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    process::Signal,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};

use crate::support::{Home, signal};

/// A command on a terminal, and what a person sees of it.
struct OnTerminal {
    child: Child,
    screen: File,
    shown: Vec<u8>,
}

impl OnTerminal {
    fn start(home: &Home, words: &[&str], no_color: &str) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let screen = openpt(flags).unwrap();
        grantpt(&screen).unwrap();
        unlockpt(&screen).unwrap();
        let path = ptsname(&screen, Vec::new()).unwrap();
        let path = path.to_str().unwrap();
        let terminal = || {
            let terminal = OpenOptions::new().read(true).write(true).open(path).unwrap();
            Stdio::from(terminal)
        };
        let mut command = home.command(words);
        command.env("NO_COLOR", no_color).stdin(terminal()).stdout(terminal()).stderr(terminal());
        let child = command.spawn().unwrap();
        // The terminal ends when nobody holds it any more.
        drop(command);
        Self { child, screen: File::from(screen), shown: Vec::new() }
    }

    /// Reads on; false at the end.
    fn read(&mut self) -> bool {
        let mut chunk = [0; 1024];
        // A terminal that nobody holds any more is an error to read.
        let Ok(count @ 1..) = self.screen.read(&mut chunk) else {
            return false;
        };
        self.shown.extend_from_slice(&chunk[..count]);
        true
    }

    fn until(&mut self, text: &str) {
        while !String::from_utf8_lossy(&self.shown).contains(text) {
            assert!(self.read(), "no {text}: {}", String::from_utf8_lossy(&self.shown));
        }
    }

    fn answer(&mut self, line: &str) {
        writeln!(self.screen, "{line}").unwrap();
    }

    /// The exit status, and all that was shown.
    fn end(mut self) -> (i32, String) {
        while self.read() {}
        (self.child.wait().unwrap().code().unwrap(), String::from_utf8(self.shown).unwrap())
    }
}

#[test]
fn commands_run_on_a_terminal() {
    let home = Home::new();
    let (code, answer) = OnTerminal::start(&home, &["exec", "hello"], "").end();
    assert!(code == 0 && answer.contains(": hello"), "{answer}");
    for (no_color, coloured) in [("", true), ("1", false)] {
        let mut daemon = OnTerminal::start(&home, &["run", "--no-plugins"], no_color);
        daemon.until("is ready");
        signal(&daemon.child, Signal::TERM);
        let (code, log) = daemon.end();
        assert_eq!((code, log.contains("\x1b[")), (0, coloured), "{log}");
    }
}

#[test]
fn a_person_is_asked_about_a_call() {
    const CALL: &str = "call bash {\"command\":\"echo from-$((40 + 2))\"}";
    let home = Home::new();
    for (answer, status, ran) in [("y", 0, true), ("n", 3, false), ("", 3, false)] {
        let mut exec = OnTerminal::start(&home, &["exec", CALL], "1");
        exec.until("Allow it? [y/N] ");
        exec.answer(answer);
        let (code, shown) = exec.end();
        assert_eq!((code, shown.contains("from-42")), (status, ran), "{answer}: {shown}");
    }
    let mut exec = OnTerminal::start(&home, &["exec", CALL], "1");
    exec.until("Allow it? [y/N] ");
    signal(&exec.child, Signal::INT);
    let (code, shown) = exec.end();
    assert_eq!((code, shown.contains("from-42")), (130, false), "{shown}");
}

#[test]
fn tool_arguments_cannot_play_tricks_on_a_terminal() {
    let home = Home::new();
    let call = "call bash {\"command\":\"echo \\u202e\\u009bx\"}";
    let done = home.scv(&["exec", "--yes", call]).with(0);
    assert!(done.err.contains("echo \\u{202e}\\u{9b}x"), "{done:?}");
    assert!(!done.err.contains(['\u{202e}', '\u{9b}']), "{done:?}");
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let home = Home::new();
    for words in [&["plugins", "list"][..], &["--help"], &["exec", "hello"]] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let done = home.command(words).stdout(full).output().unwrap();
        let text = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(1), "{words:?}: {text}");
        assert!(text.contains("could not be written"), "{words:?}: {text}");

        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let done = home.command(words).stdout(writer).output().unwrap();
        assert_eq!(String::from_utf8(done.stderr).unwrap(), "", "{words:?}: enough was read");
    }
}

#[test]
fn a_log_that_nobody_reads_stops_nothing() {
    let home = Home::new();
    let (reader, gone) = io::pipe().unwrap();
    drop(reader);
    let (_kept, full) = full_pipe();
    for stderr in [OwnedFd::from(gone), full] {
        let mut command = home.command(&["run", "--no-plugins"]);
        command.env("SCV_LOG", "trace").stderr(stderr);
        let mut child = command.spawn().unwrap();
        while home.scv(&["status"]).code != 0 {
            assert!(child.try_wait().unwrap().is_none(), "it ended");
        }
        home.scv(&["exec", "--daemon", "hello"]).with(0);
        signal(&child, Signal::TERM);
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

/// A pipe that takes no byte more, and its other end.
fn full_pipe() -> (io::PipeReader, OwnedFd) {
    let (reader, mut writer) = io::pipe().unwrap();
    let flags = fcntl_getfl(&writer).unwrap();
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).unwrap();
    while writer.write(&[b'x'; 4096]).is_ok() {}
    fcntl_setfl(&writer, flags).unwrap();
    (reader, writer.into())
}
