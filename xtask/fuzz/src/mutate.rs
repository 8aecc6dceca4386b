//! Makes new inputs out of old ones.

use std::ops::Range;

use crate::limits::{MAX_CHANGES_COUNT, MAX_INPUT_BYTES};

/// Numbers that look random; the same for the same beginning (SplitMix64, public domain).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `end`, without it; 0 when that is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = end.max(1) as u64;
        usize::try_from(self.next() % end).expect("below a usize")
    }

    pub(crate) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// A changed `input`, with a piece of `other` at times, or a word that the target knows.
pub(crate) fn mutate(dice: &mut Dice, input: &[u8], other: &[u8], words: &[&[u8]]) -> Vec<u8> {
    let mut made = input.to_vec();
    for _ in 0..=dice.below(MAX_CHANGES_COUNT) {
        change(dice, &mut made, other, words);
    }
    made.truncate(MAX_INPUT_BYTES);
    made
}

fn change(dice: &mut Dice, made: &mut Vec<u8>, other: &[u8], words: &[&[u8]]) {
    let range = range(dice, made.len());
    let at = range.start;
    let replacement: Vec<u8> = match dice.below(8) {
        // Nothing: the range goes.
        0 => Vec::new(),
        // Twice the same.
        1 => made[range.clone()].repeat(2),
        2 => made[range.clone()].iter().rev().copied().collect(),
        3 => other[self::range(dice, other.len())].to_vec(),
        4 => return made.truncate(range.end),
        5 => dice.next().to_le_bytes()[..1].to_vec(),
        6 => dice.pick(words).to_vec(),
        // A word in between.
        _ => {
            let word = dice.pick(words);
            return made.splice(at..at, word.iter().copied()).for_each(drop);
        }
    };
    made.splice(range, replacement).for_each(drop);
    if !made.is_empty() && dice.below(4) == 0 {
        let at = dice.below(made.len());
        made[at] ^= 1 << dice.below(8);
    }
}

/// Mostly a short one.
fn range(dice: &mut Dice, len: usize) -> Range<usize> {
    let start = dice.below(len + 1);
    let longest = if dice.below(4) == 0 { len - start } else { (len - start).min(16) };
    start..start + dice.below(longest + 1)
}
