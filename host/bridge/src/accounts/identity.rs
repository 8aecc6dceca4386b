//! What binds state to the account it belongs to.

use scv_plugin_api::wire::{Identity, Secret};
use sha2::{Digest, Sha256};

/// Hex SHA-256 of the compact JSON array of the identity's fingerprint parts.
pub fn fingerprint(identity: &Identity) -> String {
    let parts: Vec<Option<&str>> = identity
        .fingerprint
        .iter()
        .map(|part| part.as_ref().map(|secret: &Secret| secret.expose().as_str()))
        .collect();
    let json = serde_json::to_vec(&parts).expect("an array of strings is always JSON");
    sha256_hex(&json)
}

/// Hex SHA-256.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(parts: &[Option<&str>]) -> String {
        fingerprint(&Identity {
            fingerprint: parts.iter().map(|p| p.map(|s| Secret::new(s.to_owned()))).collect(),
            ..Identity::default()
        })
    }

    #[test]
    fn is_the_hash_of_the_compact_json_array() {
        // printf '["identity","https://chat.example","b\\"1é",null]' | sha256sum
        assert_eq!(
            of(&[Some("identity"), Some("https://chat.example"), Some("b\"1é"), None]),
            "685f844bf0d6d963227115a2cebc6742fd6c82ae89cca0e40acc83e1f2510ca2"
        );
    }

    #[test]
    fn a_missing_part_is_not_an_empty_one() {
        assert_ne!(of(&[Some("x"), None]), of(&[Some("x"), Some("")]));
    }
}
