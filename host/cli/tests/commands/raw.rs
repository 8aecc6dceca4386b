//! A connection to the daemon that sends what it likes.

use std::{
    io::{self, BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::Home;

/// Longer than any answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Raw {
    pub(crate) stream: UnixStream,
    reader: BufReader<UnixStream>,
}

impl Raw {
    pub(crate) fn connect(home: &Home) -> io::Result<Self> {
        let stream = UnixStream::connect(home.path().join("server.sock"))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let reader = BufReader::new(stream.try_clone()?);
        Ok(Self { stream, reader })
    }

    /// An initialized connection.
    pub(crate) fn hello(home: &Home) -> Self {
        let mut raw = Self::connect(home).unwrap();
        raw.send(&json!({"type": "initialize", "request_id": "1", "protocol_version": 3,
                         "client": {"name": "raw", "version": "0"}}));
        assert_eq!(raw.next()["type"], "initialized");
        raw
    }

    /// Opens the session and gives its id.
    pub(crate) fn session(&mut self) -> Value {
        let start = json!({"type": "session.start", "request_id": "2", "cwd": "/"});
        let started = self.ask(&start);
        assert_eq!(started["type"], "session.started", "{started}");
        assert_eq!(self.next()["type"], "queue.snapshot");
        started["session_id"].clone()
    }

    pub(crate) fn start_turn(&mut self, session: &Value, prompt: &str) {
        self.send(&turn(session, prompt));
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    pub(crate) fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        self.next()
    }

    /// The next event.
    pub(crate) fn next(&mut self) -> Value {
        self.try_next().unwrap().expect("the daemon closed")
    }

    /// The next event; none at the end of the stream.
    pub(crate) fn try_next(&mut self) -> io::Result<Option<Value>> {
        let mut line = String::new();
        match self.reader.read_line(&mut line)? {
            0 => Ok(None),
            _ => Ok(Some(serde_json::from_str(&line)?)),
        }
    }

    pub(crate) fn until(&mut self, kind: &str) -> Value {
        loop {
            let event = self.next();
            if event["type"] == kind {
                return event;
            }
        }
    }
}

pub(crate) fn turn(session: &Value, prompt: &str) -> Value {
    json!({"type": "turn.start", "request_id": "t", "session_id": session, "prompt": prompt})
}
