//! Numbers and ids that look random and are the same in every run.

/// A sequence of well mixed numbers (splitmix64).
#[derive(Default)]
pub(super) struct Ids(u64);

impl Ids {
    pub(super) const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn hex(&mut self) -> String {
        format!("{:016x}{:016x}", self.number(), self.number())
    }

    pub(super) fn uuid(&mut self) -> String {
        let hex = self.hex();
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        parts.join("-")
    }
}
