//! Names that cannot be guessed.

/// Where a machine takes its ids from.
pub(crate) trait IdSource: Send {
    /// An id that was never given before.
    fn next(&mut self) -> String;
}

/// UUIDs of version 4.
pub(crate) struct RandomIds;

impl IdSource for RandomIds {
    fn next(&mut self) -> String {
        uuid(random())
    }
}

/// A call id for a model that sent none: nine alphanumerics, as the strictest servers want.
pub(crate) fn call_id() -> String {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let bytes: [u8; 9] = random();
    bytes.map(|byte| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()])).iter().collect()
}

/// A number from 0 to 1 for jitter.
pub(crate) fn fraction() -> f64 {
    f64::from(u32::from_ne_bytes(random())) / f64::from(u32::MAX)
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system's random source works once the system is up");
    bytes
}

fn uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = u128::from_be_bytes(bytes);
    let hex = format!("{hex:032x}");
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_say_version_and_variant() {
        assert_eq!(uuid([0; 16]), "00000000-0000-4000-8000-000000000000");
        assert_eq!(uuid([0xff; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_ne!(RandomIds.next(), RandomIds.next());
    }

    #[test]
    fn call_ids_are_nine_alphanumerics() {
        let id = call_id();
        assert_eq!(id.len(), 9);
        assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    }
}
