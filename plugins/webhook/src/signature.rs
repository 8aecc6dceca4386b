//! Who may write: a request carries the HMAC-SHA256 of its time, nonce, target and body.

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::limits::{MAX_NONCE_BYTES, MIN_NONCE_BYTES, WINDOW_SECONDS};

/// What a signature covers.
#[derive(Debug, Clone, Copy)]
pub struct Signed<'a> {
    /// Unix seconds, in decimal.
    pub timestamp: &'a str,
    /// Used once: 8 to 64 letters, digits, `-` or `_`.
    pub nonce: &'a str,
    /// Method, a blank, the path with its query: `POST /v1/messages`.
    pub target: &'a str,
    /// The body, byte for byte.
    pub body: &'a [u8],
}

/// The signature in lower-case hex: over the four parts with LF between them.
#[must_use]
pub fn sign(secret: &str, signed: &Signed<'_>) -> String {
    hex(&mac(secret, signed).finalize().into_bytes())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a request is signed with the secret and of now; the nonce is judged elsewhere.
pub(crate) fn verify(secret: &str, signed: &Signed<'_>, hex: &str, now: u64) -> bool {
    let form = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let nonce = signed.nonce;
    if !(MIN_NONCE_BYTES..=MAX_NONCE_BYTES).contains(&nonce.len()) || !nonce.chars().all(form) {
        return false;
    }
    let fresh = signed.timestamp.parse::<u64>().is_ok_and(|at| at.abs_diff(now) <= WINDOW_SECONDS);
    let Some(claimed) = unhex(hex) else {
        return false;
    };
    // In constant time.
    mac(secret, signed).verify_slice(&claimed).is_ok() && fresh
}

fn mac(secret: &str, signed: &Signed<'_>) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any length is a key");
    for part in [signed.timestamp, signed.nonce, signed.target] {
        mac.update(part.as_bytes());
        mac.update(b"\n");
    }
    mac.update(signed.body);
    mac
}

fn unhex(hex: &str) -> Option<Vec<u8>> {
    if !hex.is_ascii() || !hex.len().is_multiple_of(2) {
        return None;
    }
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).ok();
    (0..hex.len()).step_by(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef";
    const NOW: u64 = 1_790_000_000;

    fn good() -> Signed<'static> {
        Signed {
            timestamp: "1790000000",
            nonce: "nonce-0001",
            target: "POST /v1/messages",
            body: br#"{"text":"hi"}"#,
        }
    }

    #[test]
    fn it_is_what_openssl_computes() {
        // printf '%s\n%s\n%s\n%s' 1790000000 nonce-0001 'POST /v1/messages' '{"text":"hi"}' |
        //   openssl dgst -sha256 -hmac 0123456789abcdef
        assert_eq!(
            sign(SECRET, &good()),
            "d0a4c4a628bc7e9ca7afde7c31d88c3d462871aa9ec2ce55b2bdea55770bd10d"
        );
    }

    #[test]
    fn any_other_part_or_secret_is_refused() {
        let signature = sign(SECRET, &good());
        assert!(verify(SECRET, &good(), &signature, NOW));
        assert!(!verify("another secret!!", &good(), &signature, NOW));
        for other in [
            Signed { timestamp: "1790000001", ..good() },
            Signed { nonce: "nonce-0002", ..good() },
            Signed { target: "GET /v1/messages", ..good() },
            Signed { body: b"{}", ..good() },
        ] {
            assert!(!verify(SECRET, &other, &signature, NOW), "{other:?}");
        }
        for bad in ["", "zz", "é", &signature[..62], &signature[1..], &format!("{signature}00")] {
            assert!(!verify(SECRET, &good(), bad, NOW), "{bad}");
        }
    }

    #[test]
    fn only_the_window_is_now() {
        let signature = sign(SECRET, &good());
        for (now, taken) in
            [(NOW - 300, true), (NOW - 301, false), (NOW + 300, true), (NOW + 301, false)]
        {
            assert_eq!(verify(SECRET, &good(), &signature, now), taken, "{now}");
        }
    }

    #[test]
    fn a_nonce_has_a_form() {
        for (nonce, taken) in
            [("short", false), ("12345678", true), ("with blank", false), (&"a".repeat(65), false)]
        {
            let signed = Signed { nonce, ..good() };
            let signature = sign(SECRET, &signed);
            assert_eq!(verify(SECRET, &signed, &signature, NOW), taken, "{nonce}");
        }
    }
}
