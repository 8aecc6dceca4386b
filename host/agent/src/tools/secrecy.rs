//! Which paths and variables look like secrets.

use std::path::{Component, Path};

use scv_protocol::Risk;

/// Whether reading this path could show a secret: `.env*`, `*credential*`, `*private_key*`,
/// `*.pem`, `*.key`, in any of its components, whatever the case.
pub(super) fn is_secret_path(path: &Path) -> bool {
    path.components().any(|component| match component {
        Component::Normal(name) => is_secret_name(&name.to_string_lossy().to_lowercase()),
        _ => false,
    })
}

/// What reading this path could do.
pub(super) fn reading_risk(path: &Path) -> Risk {
    if is_secret_path(path) { Risk::Filesystem } else { Risk::ReadOnly }
}

fn is_secret_name(name: &str) -> bool {
    name.starts_with(".env")
        || name.contains("credential")
        || name.contains("private_key")
        || [".pem", ".key"].iter().any(|end| name.ends_with(end))
}

/// Whether a variable of this name holds a credential, by what such variables are called.
pub(super) fn is_secret_variable(name: &str) -> bool {
    const INSIDE: [&str; 5] = ["APIKEY", "PASSWORD", "SECRET", "TOKEN", "CREDENTIAL"];
    const WORDS: [&str; 12] = [
        "KEY",
        "KEYS",
        "PASS",
        "PASSWD",
        "PASSPHRASE",
        "PWD",
        "COOKIE",
        "PAT",
        "AUTH",
        "SK",
        "WEBHOOK",
        "DSN",
    ];
    let name = name.to_uppercase();
    if matches!(name.as_str(), "PWD" | "OLDPWD" | "SSH_AUTH_SOCK") {
        return false;
    }
    INSIDE.iter().any(|part| name.contains(part))
        || name.split('_').any(|word| WORDS.contains(&word))
}

/// Whether a value carries a password in an address, as in `scheme://user:password@host`.
pub(super) fn has_password(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_secret_paths() {
        for path in [
            ".env",
            "a/.env.local",
            ".ENV",
            "aws_credentials",
            "x/Credential.json",
            "my_private_key",
            "tls/server.pem",
            "id.KEY",
            ".envs/readme",
            "a/../.env",
        ] {
            assert!(is_secret_path(Path::new(path)), "{path}");
        }
        for path in ["src/main.rs", "environment.md", "keyboard.rs", "a.key.rs", "env"] {
            assert!(!is_secret_path(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn knows_secret_variables() {
        for name in [
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "GITHUB_PAT",
            "NPM_AUTH",
            "DOCKER_AUTH_CONFIG",
            "STRIPE_SK",
            "SLACK_WEBHOOK_URL",
            "SENTRY_DSN",
            "AWS_SECRET_ACCESS_KEY",
            "PGPASSWORD",
            "MYSQL_PWD",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "db_passwd",
            "npm_config__authToken",
        ] {
            assert!(is_secret_variable(name), "{name}");
        }
        for name in ["PATH", "HOME", "PWD", "OLDPWD", "KEYBOARD", "LANG", "SSH_AUTH_SOCK"] {
            assert!(!is_secret_variable(name), "{name}");
        }
    }

    #[test]
    fn finds_passwords_in_addresses() {
        assert!(has_password("postgres://me:hunter2@db/x"));
        assert!(has_password("a=1 http://u:p@h"));
        for value in ["http://host:80/a@b:c", "me@host", "git@host:repo", "ssh://git@host/x"] {
            assert!(!has_password(value), "{value}");
        }
    }
}
