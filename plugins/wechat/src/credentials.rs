//! The credentials document, and whose it is.

use scv_http::Origin;
use scv_plugin_api::{
    Result,
    wire::{Fault, Identity, Secret},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    limits::IMPORT_BYTES,
    origin::{DEFAULT_ORIGIN, trusted},
};

/// What a sign-in saves, and nothing else is needed to run an account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Credentials {
    token: Secret,
    #[serde(default = "default_base_url")]
    base_url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bot_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
}

/// The account that commands mean when none is named.
const DEFAULT_ACCOUNT: &str = "default";

fn default_base_url() -> String {
    DEFAULT_ORIGIN.to_owned()
}

impl Credentials {
    /// What a confirmed sign-in gives.
    pub(crate) fn new(
        token: Secret,
        origin: &Origin,
        bot_id: String,
        user_id: String,
    ) -> Option<Self> {
        let base_url = origin.to_string();
        Self { token, base_url, bot_id: Some(bot_id), user_id: Some(user_id) }.check()
    }

    /// Reads a saved document, if it is usable.
    pub(crate) fn read(document: &Value) -> Option<Self> {
        Self::deserialize(document).ok()?.check()
    }

    /// Reads the document that is saved for this account.
    pub(crate) fn of_account(account: &str, document: &Value) -> Result<Self> {
        Self::read(document).ok_or_else(|| {
            let account = match account {
                DEFAULT_ACCOUNT => String::new(),
                name => format!(" --account {name}"),
            };
            Fault::config(format!(
                "the saved WeChat credentials are not usable; run \
                 `scv channels logout wechat{account}`, then sign in again"
            ))
        })
    }

    /// Reads the single TOML file of the earliest releases, which has the same four keys.
    pub(crate) fn import(text: &str) -> Result<Self> {
        let text = Some(text).filter(|text| text.len() <= IMPORT_BYTES);
        // The parser's own text would quote the file.
        let credentials = text.and_then(|text| toml::from_str::<Self>(text).ok());
        credentials.and_then(Self::check).ok_or_else(|| {
            Fault::config(
                "the old file holds no usable WeChat credentials; move it aside, then sign in again",
            )
        })
    }

    fn check(self) -> Option<Self> {
        let token = self.token.expose();
        let carried = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        (carried && trusted(&self.base_url).is_ok()).then_some(self)
    }

    /// The document as it is saved.
    pub(crate) fn document(&self) -> Result<Value> {
        serde_json::to_value(self).map_err(|_| {
            Fault::other("the WeChat credentials could not be written as JSON; sign in again")
        })
    }

    /// The bearer token.
    pub(crate) fn token(&self) -> &Secret {
        &self.token
    }

    /// Where the account's calls go.
    pub(crate) fn origin(&self) -> Result<Origin> {
        trusted(&self.base_url)
    }

    /// Whose credentials these are. The parts are hashed by the host and must never change: state
    /// written by older releases is bound to them.
    pub(crate) fn identity(&self) -> Result<Identity> {
        let origin = self.origin()?.to_string();
        let bot_id = known(&self.bot_id);
        let owner_id = known(&self.user_id);
        let ids = [self.bot_id.clone(), self.user_id.clone()];
        let mut parts = match (&bot_id, &owner_id) {
            (Some(_), Some(_)) => vec![Some("identity".to_owned()), Some(origin)],
            // A token names an account whose ids are unknown; another token may be another one.
            _ => {
                let token = self.token.expose().clone();
                vec![Some("legacy".to_owned()), Some(origin), Some(token)]
            }
        };
        parts.extend(ids);
        let fingerprint = parts.into_iter().map(|part| part.map(Secret::new)).collect();
        Ok(Identity { display: bot_id.clone(), bot_id, owner_id, fingerprint })
    }
}

fn known(id: &Option<String>) -> Option<String> {
    id.clone().filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sha2::{Digest, Sha256};

    use super::*;

    fn read(document: Value) -> Credentials {
        Credentials::read(&document).expect("credentials")
    }

    /// As the host does it: hex SHA-256 of the compact JSON array.
    fn fingerprint(credentials: &Credentials) -> String {
        let parts = credentials.identity().expect("identity").fingerprint;
        let json = serde_json::to_vec(&parts).expect("JSON");
        Sha256::digest(json).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn parts(document: Value) -> Value {
        serde_json::to_value(read(document).identity().expect("identity").fingerprint)
            .expect("JSON")
    }

    /// The credentials and the fingerprint that `cases/state` gives for files of older bridges.
    #[test]
    fn state_of_an_older_bridge_stays_bound() {
        let credentials = read(json!({
            "token": "tok-fake-1",
            "base_url": "https://ilinkai.weixin.qq.com",
            "bot_id": "b1@im.bot",
            "user_id": "owner@im.wechat",
        }));
        assert_eq!(
            fingerprint(&credentials),
            "0d3807e4be88cc22c2c6c3f2d525de47c4eb6615f619b3a4a2fa0305dec288f0"
        );
    }

    #[test]
    fn a_new_token_or_spelling_keeps_the_identity() {
        let one = json!({"token": "a", "base_url": "https://ilinkai.weixin.qq.com", "bot_id": "b", "user_id": "u"});
        let two = json!({"token": "b", "base_url": "https://ILINKAI.weixin.qq.com:443/", "bot_id": "b", "user_id": "u"});
        assert_eq!(parts(one.clone()), parts(two));
        assert_eq!(parts(one), json!(["identity", "https://ilinkai.weixin.qq.com", "b", "u"]));
    }

    #[test]
    fn without_both_ids_the_token_counts() {
        assert_eq!(
            parts(json!({"token": "t", "bot_id": "b"})),
            json!(["legacy", "https://ilinkai.weixin.qq.com", "t", "b", null])
        );
        let empty = json!({"token": "t", "bot_id": "", "user_id": "u"});
        assert_eq!(
            parts(empty.clone()),
            json!(["legacy", "https://ilinkai.weixin.qq.com", "t", "", "u"])
        );
        let identity = read(empty).identity().expect("identity");
        assert_eq!((identity.bot_id, identity.owner_id.as_deref()), (None, Some("u")));
    }

    #[test]
    fn the_single_file_of_the_earliest_releases_is_read() {
        let text = "token = \"tok-fake-1\"\nbase_url = \"https://ilinkai.weixin.qq.com\"\n\
                    bot_id = \"b1@im.bot\"\nuser_id = \"owner@im.wechat\"\n";
        let document = Credentials::import(text).expect("imported").document().expect("JSON");
        assert_eq!(
            document,
            json!({
                "token": "tok-fake-1",
                "base_url": "https://ilinkai.weixin.qq.com",
                "bot_id": "b1@im.bot",
                "user_id": "owner@im.wechat",
            })
        );
        let short = Credentials::import("token = \"t\"").expect("imported").document();
        assert_eq!(
            short.expect("JSON"),
            json!({"token": "t", "base_url": "https://ilinkai.weixin.qq.com"})
        );
    }

    #[test]
    fn the_command_that_helps_names_the_account() {
        for (account, command) in [
            ("default", "`scv channels logout wechat`"),
            ("work", "`scv channels logout wechat --account work`"),
        ] {
            let fault = Credentials::of_account(account, &json!({})).expect_err("refused");
            assert!(fault.message.contains(command), "{}", fault.message);
        }
    }

    #[test]
    fn unusable_documents_are_refused_without_quoting_them() {
        for document in [
            json!({}),
            json!({"token": ""}),
            json!({"token": "hunter22\r\nX: y"}),
            json!({"token": 5, "bot_id": "hunter22"}),
            json!({"token": "hunter22", "base_url": "https://evil.example"}),
            json!({"token": "hunter22", "base_url": "http://ilinkai.weixin.qq.com"}),
        ] {
            let fault = Credentials::of_account("default", &document).expect_err("refused");
            assert!(!fault.message.contains("hunter22"), "{}", fault.message);
        }
        let fault = Credentials::import("token = hunter22").expect_err("refused");
        assert!(!fault.message.contains("hunter22"));
        assert!(!format!("{:?}", read(json!({"token": "hunter22"}))).contains("hunter22"));
    }
}
