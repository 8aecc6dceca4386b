//! What is fuzzed.

pub(crate) mod calls;
pub(crate) mod codec;
pub(crate) mod feishu;
pub(crate) mod sse;

use std::hash::{DefaultHasher, Hash, Hasher};

/// A plain function over bytes, which panics when something is wrong.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&[u8]) -> Kind,
    /// What inputs are often made of.
    pub(crate) words: &'static [&'static [u8]],
}

/// What kind of thing happened; equal for what is not worth telling apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Kind(u64);

impl Target {
    pub(crate) const NAMES: &'static str =
        "codec, sse, calls, feishu-frame, feishu-parts, feishu-post, feishu-history, feishu-event";

    pub(crate) fn named(name: &str) -> Option<Self> {
        let own = [
            Self { name: codec::NAME, run: codec::run, words: codec::WORDS },
            Self { name: sse::NAME, run: sse::run, words: sse::WORDS },
            Self { name: calls::NAME, run: calls::run, words: calls::WORDS },
        ];
        own.into_iter().chain(feishu::targets()).find(|target| target.name == name)
    }
}

impl Kind {
    pub(crate) fn of(facts: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        facts.hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// A count, coarse: one more of a thing is soon nothing new.
pub(crate) const fn about(count: usize) -> u32 {
    usize::BITS - count.leading_zeros()
}

/// Cuts an input into pieces of a few bytes, the same way each time.
pub(crate) fn pieces(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut rest, mut pieces, mut size) = (bytes, Vec::new(), 1);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(size.min(rest.len()));
        pieces.push(piece);
        size = 1 + (size * 5 + usize::from(piece[0])) % 23;
        rest = after;
    }
    pieces
}
