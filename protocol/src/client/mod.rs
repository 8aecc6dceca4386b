//! A client of the protocol over any byte stream.

mod control;

use std::{collections::VecDeque, io, path::Path};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::UnixStream,
};

use crate::{
    CURRENT_VERSION, ClientInfo, ClientMessage, ErrorCode, ServerEvent,
    codec::{Line, LineDecoder},
    limits::MAX_CONFIGURED_FRAME_BYTES,
};

pub use control::control;

/// Why a client call failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens, or the stream broke.
    #[error("the connection to the daemon failed")]
    Io(#[from] io::Error),
    /// The server ended the stream.
    #[error("the daemon closed the connection")]
    Closed,
    /// The server sent something that is no event of this protocol.
    #[error("the daemon sent a line that is not part of the protocol")]
    Protocol,
    /// The server refused.
    #[error("{message}")]
    Refused {
        /// Its stable code.
        code: ErrorCode,
        /// Its words.
        message: String,
    },
    /// No answer in time. Says nothing about whether a change was made: ask for the status.
    #[error(
        "the daemon did not answer within {seconds} seconds; check `scv status` before trying again"
    )]
    Timeout {
        /// How long the client waited.
        seconds: u64,
    },
}

/// The reading half: one event a call.
pub struct EventReader {
    stream: Box<dyn AsyncRead + Send + Unpin>,
    decoder: LineDecoder,
    lines: VecDeque<Line>,
    buffer: Vec<u8>,
}

/// The writing half.
pub struct MessageWriter {
    stream: Box<dyn AsyncWrite + Send + Unpin>,
}

/// An initialized connection.
pub struct Client {
    reader: EventReader,
    writer: MessageWriter,
}

impl Client {
    /// Connects to the daemon's socket and initializes.
    ///
    /// # Errors
    /// [`ClientError::Io`] when nobody listens, otherwise as [`Client::handshake`].
    pub async fn connect(socket: &Path, info: ClientInfo) -> Result<Self, ClientError> {
        Self::handshake(UnixStream::connect(socket).await?, info).await
    }

    /// Initializes a connection over any stream, at [`CURRENT_VERSION`].
    ///
    /// # Errors
    /// [`ClientError::Refused`] when the server does not serve the version.
    pub async fn handshake<S>(stream: S, info: ClientInfo) -> Result<Self, ClientError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (read, write) = tokio::io::split(stream);
        let mut client = Self {
            reader: EventReader::new(read),
            writer: MessageWriter { stream: Box::new(write) },
        };
        let hello = ClientMessage::Initialize {
            request_id: "initialize".into(),
            protocol_version: CURRENT_VERSION,
            client: info,
        };
        client.send(&hello).await?;
        match client.next().await? {
            ServerEvent::Initialized { .. } => Ok(client),
            ServerEvent::Error { code, message, .. } => Err(ClientError::Refused { code, message }),
            _ => Err(ClientError::Protocol),
        }
    }

    /// Sends one message.
    ///
    /// # Errors
    /// [`ClientError::Io`] when the stream broke.
    pub async fn send(&mut self, message: &ClientMessage) -> Result<(), ClientError> {
        self.writer.send(message).await
    }

    /// Waits for the next event; events of newer servers are skipped. Safe to cancel.
    ///
    /// # Errors
    /// [`ClientError::Closed`] at the end of the stream, [`ClientError::Protocol`] for a line
    /// that is no event.
    pub async fn next(&mut self) -> Result<ServerEvent, ClientError> {
        self.reader.next().await
    }

    /// The two halves, for a caller that reads and writes at once.
    pub fn split(self) -> (EventReader, MessageWriter) {
        (self.reader, self.writer)
    }
}

impl MessageWriter {
    /// Sends one message.
    ///
    /// # Errors
    /// [`ClientError::Io`] when the stream broke.
    pub async fn send(&mut self, message: &ClientMessage) -> Result<(), ClientError> {
        let mut line = serde_json::to_vec(message).map_err(|_| ClientError::Protocol)?;
        line.push(b'\n');
        self.stream.write_all(&line).await?;
        Ok(self.stream.flush().await?)
    }
}

impl EventReader {
    fn new(stream: impl AsyncRead + Send + Unpin + 'static) -> Self {
        Self {
            stream: Box::new(stream),
            decoder: LineDecoder::new(MAX_CONFIGURED_FRAME_BYTES),
            lines: VecDeque::new(),
            buffer: vec![0; 16 * 1024],
        }
    }

    /// Waits for the next event; events of newer servers are skipped. Safe to cancel.
    ///
    /// # Errors
    /// As [`Client::next`].
    pub async fn next(&mut self) -> Result<ServerEvent, ClientError> {
        loop {
            while let Some(line) = self.lines.pop_front() {
                let Line::Complete(line) = line else {
                    return Err(ClientError::Protocol);
                };
                match serde_json::from_slice(&line).map_err(|_| ClientError::Protocol)? {
                    ServerEvent::Unknown => {}
                    event => return Ok(event),
                }
            }
            let count = self.stream.read(&mut self.buffer).await?;
            if count == 0 {
                return Err(ClientError::Closed);
            }
            let lines = &mut self.lines;
            self.decoder.push(&self.buffer[..count], |line| lines.push_back(line));
        }
    }
}
