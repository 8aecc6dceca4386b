//! The decoders for fuzz targets; only with the feature `fuzz`, which nothing that ships has.

use scv_protocol::Usage;

use super::{
    Response,
    calls::{Calls, Fragment},
    decode::{Decoder, End},
};
use crate::{config::WireApi, message::ToolCall};

/// What a body has become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Text for the client, in order.
    pub deltas: Vec<String>,
    /// The response, or the words of the failure.
    pub result: Result<Answer, String>,
    /// Whether the failure may be asked again.
    pub may_pass: bool,
}

/// A whole response. Ids that the decoder made up are left out: they differ each time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The message.
    pub text: String,
    /// Name and arguments of each call.
    pub calls: Vec<[String; 2]>,
    /// Token counts.
    pub usage: Option<Usage>,
}

/// A piece of a call, as Chat Completions has them.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallPiece<'a> {
    /// The call's id; not empty.
    pub id: Option<&'a str>,
    /// The call's place.
    pub index: Option<u64>,
    /// The tool; not empty.
    pub name: Option<&'a str>,
    /// More of the arguments.
    pub arguments: &'a str,
}

/// Reads a body that comes in these chunks and then ends, properly or not.
pub fn read<'a>(
    wire_api: WireApi,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    is_clean: bool,
) -> Reading {
    let mut decoder = Decoder::new(wire_api, true);
    let mut deltas = Vec::new();
    let mut pushed = Ok(());
    for chunk in chunks {
        let progress = decoder.push(chunk);
        deltas.extend(decoder.take_deltas());
        match progress {
            Ok(progress) if progress.done => break,
            Ok(_) => {}
            Err(fault) => {
                pushed = Err(fault);
                break;
            }
        }
    }
    let end = if is_clean { End::Clean } else { End::Broken };
    let result = pushed.and_then(|()| decoder.finish(end));
    deltas.extend(decoder.take_deltas());
    let may_pass = result.as_ref().is_err_and(|fault| fault.retry.is_some());
    let result = result.map(Answer::from).map_err(|fault| fault.failure.message);
    Reading { deltas, result, may_pass }
}

/// Puts pieces together: id, name and arguments of each call, or nothing when they are damaged or
/// too many.
pub fn merge<'a>(pieces: impl IntoIterator<Item = CallPiece<'a>>) -> Option<Vec<[String; 3]>> {
    let mut calls = Calls::new();
    for piece in pieces {
        let CallPiece { id, index, name, arguments } = piece;
        calls.add(&Fragment { id, index, name, arguments: arguments.into() }).ok()?;
    }
    let calls = calls.finish().ok()?;
    Some(calls.into_iter().map(|ToolCall { id, name, arguments }| [id, name, arguments]).collect())
}

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        let calls = response.message.calls.into_iter();
        Self {
            text: response.message.text,
            calls: calls.map(|call| [call.name, call.arguments]).collect(),
            usage: response.usage,
        }
    }
}
