//! What passes between a host and the child that runs a plugin:
//! `u32 length | u64 id | u8 kind | document`, numbers in little endian.
//!
//! The documents are those of the boundary, byte for byte. Before some stands a short prefix:
//! the session's id, the name of an operation, a grace.

use std::io::{self, ErrorKind};

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::limits::MAX_FRAME_BYTES;

const HEADER_LEN: usize = 4 + 8 + 1;

/// One frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// Names the request that this is, answers or cancels.
    pub(super) id: u64,
    pub(super) kind: Kind,
    pub(super) document: Vec<u8>,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// What a frame is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Kind { $($(#[$doc])* $name = $number,)* }

        impl Kind {
            fn from_number(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    /// To the child: the most talkative level of its log.
    Level = 1,
    /// To the child: `create`.
    Create = 2,
    /// To the child: `inspect`.
    Inspect = 3,
    /// To the child: `login`.
    Login = 4,
    /// To the child: `connect`; the request's id becomes the session's.
    Connect = 5,
    /// To the child: `call` of the plugin; operation, document.
    Call = 6,
    /// To the child: `shutdown`; grace.
    Shutdown = 7,
    /// To the child: `next_batch`; session, document.
    NextBatch = 8,
    /// To the child: `send`; session, document.
    Send = 9,
    /// To the child: `call` of a session; session, operation, document.
    SessionCall = 10,
    /// To the child: `close`; session, grace.
    Close = 11,
    /// To the child: nobody has the session of this id any more.
    Forget = 12,
    /// Either way: nobody waits for the answer any more.
    Cancel = 13,
    /// Either way: the answer.
    Answer = 20,
    /// Either way: the fault.
    Fault = 21,
    /// From the child: it runs.
    Hello = 30,
    /// From the child: the library is loaded; its manifest.
    Loaded = 31,
    /// From the child: the library was not loaded; a refusal.
    Refused = 32,
    /// From the child: a call of the plugin to its host; operation, document.
    HostCall = 33,
    /// From the child: a line of the plugin's log; level, target, record.
    Log = 34,
}

impl Frame {
    pub(super) fn new(id: u64, kind: Kind, document: impl Into<Vec<u8>>) -> Self {
        Self { id, kind, document: document.into() }
    }

    /// As it goes over the wire.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_LEN + self.document.len());
        // A longer one never gets here: documents are limited where they are made.
        let len = u32::try_from(self.document.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(&len.to_le_bytes());
        bytes.extend_from_slice(&self.id.to_le_bytes());
        bytes.push(self.kind as u8);
        bytes.extend_from_slice(&self.document);
        bytes
    }

    /// The next frame; none at the end of the stream.
    pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Self>> {
        let mut header = [0; HEADER_LEN];
        if stream.read(&mut header[..1]).await? == 0 {
            return Ok(None);
        }
        stream.read_exact(&mut header[1..]).await?;
        let mut fields = &header[..];
        let len = u32::from_le_bytes(take(&mut fields).ok_or(ErrorKind::InvalidData)?);
        let id = u64::from_le_bytes(take(&mut fields).ok_or(ErrorKind::InvalidData)?);
        let kind = Kind::from_number(header[HEADER_LEN - 1]).ok_or(ErrorKind::InvalidData)?;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if len > MAX_FRAME_BYTES {
            return Err(ErrorKind::InvalidData.into());
        }
        let mut document = vec![0; len];
        stream.read_exact(&mut document).await?;
        Ok(Some(Self { id, kind, document }))
    }
}

/// Takes the first bytes of a document.
pub(super) fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}

/// A text with its length before it, in front of a document.
pub(super) fn put_text(document: &mut Vec<u8>, text: &str) {
    let mut end = text.len().min(usize::from(u16::MAX));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let len = u16::try_from(end).unwrap_or_default();
    document.extend_from_slice(&len.to_le_bytes());
    document.extend_from_slice(&text.as_bytes()[..end]);
}

/// Takes a text that [`put_text`] put there.
pub(super) fn take_text<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    let len = u16::from_le_bytes(take(bytes)?);
    let (text, rest) = bytes.split_at_checked(len.into())?;
    *bytes = rest;
    std::str::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn frames_come_out_as_they_went_in() {
        let frames = [
            Frame::new(0, Kind::Hello, b""),
            Frame::new(u64::MAX, Kind::Answer, b"{}\nbody\0\xff"),
            Frame::new(7, Kind::Log, vec![b'x'; 100_000]),
        ];
        let wire: Vec<u8> = frames.iter().flat_map(Frame::to_bytes).collect();
        let mut wire = &wire[..];
        for frame in frames {
            assert_eq!(Frame::read(&mut wire).await.unwrap(), Some(frame));
        }
        assert_eq!(Frame::read(&mut wire).await.unwrap(), None);
    }

    #[tokio::test]
    async fn what_is_no_frame_is_an_error_and_costs_no_memory() {
        let good = Frame::new(1, Kind::Answer, b"{}").to_bytes();
        let mut unknown = good.clone();
        unknown[12] = 99;
        let mut endless = good.clone();
        endless[..4].copy_from_slice(&u32::MAX.to_le_bytes());
        for bad in [&good[..5], &good[..14], &unknown, &endless] {
            assert!(Frame::read(&mut &bad[..]).await.is_err(), "{bad:?}");
        }
    }

    #[test]
    fn texts_in_front_of_documents() {
        let mut document = Vec::new();
        put_text(&mut document, "typing");
        document.extend_from_slice(b"{}");
        let mut rest = &document[..];
        assert_eq!((take_text(&mut rest), rest), (Some("typing"), &b"{}"[..]));
        assert_eq!(take_text(&mut &b"\x05\0ab"[..]), None);
        let mut cut = Vec::new();
        put_text(&mut cut, &"é".repeat(40_000));
        assert_eq!(take_text(&mut &cut[..]).map(str::len), Some(65_534));
    }
}
