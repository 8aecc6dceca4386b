//! Random ids.

/// A new version 4 UUID.
pub(super) fn uuid() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the operating system has random numbers");
    format_uuid(bytes)
}

fn format_uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let (a, b, c, d, e) = (&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    format!("{a}-{b}-{c}-{d}-{e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_version_and_variant() {
        assert_eq!(format_uuid([0xff; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(format_uuid([0; 16]), "00000000-0000-4000-8000-000000000000");
        assert_ne!(uuid(), uuid());
    }
}
