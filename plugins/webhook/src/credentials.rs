//! What an account knows: where it listens, its secret, and where replies go.

use std::{fmt, net::SocketAddr};

use scv_plugin_api::{
    Result,
    wire::{Fault, Identity, Secret},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{limits::MIN_SECRET_BYTES, messages::check_name};

/// The credentials document.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Credentials {
    /// A loopback address with its port.
    pub(crate) listen: SocketAddr,
    /// What requests are signed with.
    pub(crate) secret: Secret,
    /// Where replies are posted; none: they are fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) callback: Option<Callback>,
    /// The sender who may be granted tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
}

impl Credentials {
    pub(crate) fn read(document: &Value) -> Result<Self> {
        let form = |_| {
            Fault::config("the credentials have another form; run `scv channels login webhook`")
        };
        let credentials = Self::deserialize(document).map_err(form)?;
        credentials.check()
    }

    pub(crate) fn check(self) -> Result<Self> {
        if !self.listen.ip().is_loopback() {
            return Err(Fault::config("listen is no loopback address; use 127.0.0.1:PORT"));
        }
        if self.secret.expose().len() < MIN_SECRET_BYTES {
            return Err(Fault::config(
                "the secret is shorter than 16 bytes; make one with `openssl rand -hex 32`",
            ));
        }
        if self.owner.as_deref().is_some_and(|owner| check_name(owner).is_err()) {
            return Err(Fault::config(
                "the owner can be no message's sender; use a name of 1 to 128 bytes without NUL",
            ));
        }
        Ok(self)
    }

    /// The address is the bot: with another secret it is still the same one.
    pub(crate) fn identity(&self) -> Identity {
        let listen = self.listen.to_string();
        Identity {
            bot_id: Some(listen.clone()),
            owner_id: self.owner.clone(),
            display: None,
            fingerprint: vec![Some("webhook".to_owned().into()), Some(listen.into())],
        }
    }
}

/// A URL on loopback, in plain HTTP.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Callback {
    pub(crate) address: SocketAddr,
    /// With its query, which may hold a secret.
    pub(crate) target: String,
}

impl TryFrom<String> for Callback {
    type Error = &'static str;

    fn try_from(url: String) -> std::result::Result<Self, Self::Error> {
        let wrong = "the callback is not http://ADDRESS:PORT/PATH with a loopback ADDRESS";
        let rest = url.strip_prefix("http://").ok_or(wrong)?;
        let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
        let address: SocketAddr = address.parse().map_err(|_| wrong)?;
        let printable = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
        if !address.ip().is_loopback() || !printable {
            return Err(wrong);
        }
        Ok(Self { address, target: format!("/{path}") })
    }
}

impl From<Callback> for String {
    fn from(callback: Callback) -> Self {
        format!("http://{}{}", callback.address, callback.target)
    }
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}/…", self.address)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_loopback_is_spoken_to() {
        for (url, good) in [
            ("http://127.0.0.1:9000/hook?x=1", true),
            ("http://127.0.0.1:9000", true),
            ("http://[::1]:9000/", true),
            ("http://127.0.0.1/hook", false),
            ("https://127.0.0.1:9000/", false),
            ("http://10.0.0.1:9000/", false),
            ("http://localhost:9000/", false),
            ("http://127.0.0.1:9000/a b", false),
            ("http://127.0.0.1:9000/a\r\nx: y", false),
        ] {
            let callback = Callback::try_from(url.to_owned());
            assert_eq!(callback.is_ok(), good, "{url}");
        }
        let open = json!({"listen": "0.0.0.0:8787", "secret": "0123456789abcdef"});
        assert!(Credentials::read(&open).unwrap_err().message.contains("loopback"));
    }

    #[test]
    fn a_document_is_read_and_written() {
        let document = json!({
            "listen": "127.0.0.1:8787",
            "secret": "0123456789abcdef",
            "callback": "http://127.0.0.1:9000/hook",
            "owner": "me",
        });
        let credentials = Credentials::read(&document).unwrap();
        assert!(!format!("{credentials:?}").contains("0123456789abcdef"));
        assert_eq!(serde_json::to_value(credentials).unwrap(), document);
        let short = json!({"listen": "127.0.0.1:8787", "secret": "short"});
        assert!(Credentials::read(&short).unwrap_err().message.contains("16 bytes"));
        let owner = "x".repeat(129);
        let long =
            json!({"listen": "127.0.0.1:8787", "secret": "0123456789abcdef", "owner": owner});
        assert!(Credentials::read(&long).unwrap_err().message.contains("the owner"));
        Credentials::read(&json!({})).unwrap_err();
    }
}
