//! The environment of tool processes: this one's, without credentials.

use std::{env, ffi::OsString};

use super::{
    Workshop,
    secrecy::{has_password, is_secret_variable},
};
use crate::{config::Secret, limits::MIN_REDACTED_SECRET_BYTES};

/// What a tool process inherits.
pub(super) fn variables(workshop: &Workshop) -> Vec<(OsString, OsString)> {
    env::vars_os()
        .filter(|(name, value)| {
            may_inherit(
                &name.to_string_lossy(),
                &value.to_string_lossy(),
                &workshop.config.hidden_variables,
                &workshop.secrets,
            )
        })
        .collect()
}

fn may_inherit(name: &str, value: &str, hidden: &[String], secrets: &[Secret]) -> bool {
    let is_secret = |secret: &Secret| {
        let secret = secret.expose();
        secret.len() >= MIN_REDACTED_SECRET_BYTES && value.contains(secret)
    };
    !is_secret_variable(name)
        && !has_password(value)
        && !hidden.iter().any(|hidden| hidden == name)
        && !secrets.iter().any(is_secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_stay_behind_by_name_and_by_value() {
        let hidden = ["MY_MODEL".to_owned()];
        let secrets = [Secret::new("sk-123456789"), Secret::new("x")];
        let may = |name, value| may_inherit(name, value, &hidden, &secrets);
        assert!(may("PATH", "/usr/bin"));
        assert!(may("NOTE", "x is too short to be looked for"));
        assert!(!may("OPENAI_API_KEY", "1"));
        assert!(!may("MY_MODEL", "1"));
        assert!(!may("INNOCENT", "a sk-123456789 b"));
        assert!(!may("DATABASE_URL", "postgres://me:hunter2@db/x"));
    }
}
