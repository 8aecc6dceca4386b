//! The credentials document, and whose it is.

use scv_plugin_api::{
    Result,
    wire::{Fault, Identity, Secret},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{brand::Brand, limits::NAME_BYTES};

/// What a sign-in saves, and nothing else is needed to run an account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Credentials {
    pub(crate) app_id: String,
    pub(crate) app_secret: Secret,
    pub(crate) brand: Brand,
    #[serde(default)]
    pub(crate) owner_open_id: Option<String>,
}

/// The account that commands mean when none is named.
const DEFAULT_ACCOUNT: &str = "default";

impl Credentials {
    /// Credentials that HTTP and JSON can carry; none otherwise.
    pub(crate) fn new(
        app_id: String,
        app_secret: Secret,
        brand: Brand,
        owner_open_id: Option<String>,
    ) -> Option<Self> {
        Self { app_id, app_secret, brand, owner_open_id }.check()
    }

    /// Reads the document that is saved for this account.
    pub(crate) fn of_account(account: &str, document: &Value) -> Result<Self> {
        let read = Self::deserialize(document).ok().and_then(Self::check);
        read.ok_or_else(|| {
            let account = match account {
                DEFAULT_ACCOUNT => String::new(),
                name => format!(" --account {name}"),
            };
            Fault::config(format!(
                "the saved Feishu credentials are not usable; run \
                 `scv channels logout feishu{account}`, then sign in again"
            ))
        })
    }

    fn check(self) -> Option<Self> {
        let owner = self.owner_open_id.filter(|owner| !owner.is_empty());
        let owner_fits = owner.as_deref().is_none_or(is_plain);
        let fits = is_plain(&self.app_id) && is_plain(self.app_secret.expose()) && owner_fits;
        fits.then_some(Self { owner_open_id: owner, ..self })
    }

    /// The document as it is saved.
    pub(crate) fn document(&self) -> Result<Secret<Value>> {
        serde_json::to_value(self).map(Secret::new).map_err(|_| {
            Fault::other("the credentials could not be written as JSON; sign in again")
        })
    }

    /// Whose they are. The secret is no part of the fingerprint: a new one keeps the state.
    pub(crate) fn identity(&self) -> Identity {
        let owner = self.owner_open_id.clone();
        let known = ["feishu", self.brand.name(), &self.app_id];
        let mut fingerprint = known.map(|part| Some(Secret::new(part.to_owned()))).to_vec();
        fingerprint.push(owner.clone().map(Secret::new));
        Identity { bot_id: Some(self.app_id.clone()), owner_id: owner, display: None, fingerprint }
    }
}

/// An id or a secret as the platform makes them: short, and printable ASCII.
pub(crate) fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.len() <= NAME_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn whole() -> Value {
        json!({"app_id": "cli_a1", "app_secret": "hunter22", "brand": "lark", "owner_open_id": "ou_1"})
    }

    fn parts(document: &Value) -> Value {
        let credentials = Credentials::of_account("default", document).expect("usable");
        serde_json::to_value(credentials.identity().fingerprint).expect("JSON")
    }

    #[test]
    fn the_document_is_the_contracts() {
        let credentials = Credentials::of_account("default", &whole()).expect("usable");
        assert_eq!(credentials.document().expect("JSON").expose(), &whole());
    }

    #[test]
    fn a_new_secret_keeps_the_identity_and_nothing_else_does() {
        let before = parts(&whole());
        assert_eq!(before, json!(["feishu", "lark", "cli_a1", "ou_1"]));
        for (key, value, same) in [
            ("app_secret", json!("other"), true),
            ("brand", json!("feishu"), false),
            ("app_id", json!("cli_b2"), false),
            ("owner_open_id", json!(null), false),
        ] {
            let mut document = whole();
            document[key] = value;
            assert_eq!(parts(&document) == before, same, "{key}");
        }
    }

    #[test]
    fn no_owner_is_written_as_null_in_every_spelling() {
        for owner in [json!(null), json!("")] {
            let mut document = whole();
            document["owner_open_id"] = owner;
            assert_eq!(parts(&document), json!(["feishu", "lark", "cli_a1", null]));
        }
        let absent = json!({"app_id": "cli_a1", "app_secret": "s", "brand": "lark"});
        assert_eq!(parts(&absent), json!(["feishu", "lark", "cli_a1", null]));
    }

    #[test]
    fn unusable_documents_are_refused_without_quoting_them() {
        for document in [
            json!({}),
            json!({"app_id": "cli_a1", "app_secret": "hunter22\r\n", "brand": "feishu"}),
            json!({"app_id": "", "app_secret": "hunter22", "brand": "feishu"}),
            json!({"app_id": "cli_a1", "app_secret": "hunter22", "brand": "other"}),
            json!({"app_id": "cli_a1", "app_secret": "hunter22", "brand": "lark", "owner_open_id": "a b"}),
        ] {
            let fault = Credentials::of_account("work", &document).expect_err("refused");
            assert!(!fault.message.contains("hunter22"), "{}", fault.message);
            assert!(fault.message.contains("logout feishu --account work"), "{}", fault.message);
        }
    }
}
