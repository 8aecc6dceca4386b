//! The plugin: one HTTP client for all accounts, and the five operations of a channel.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use scv_http::{HttpClient, HttpConfig};
use scv_plugin_api::{
    Channel, LoginUi, Result, Stop,
    wire::{
        ConnectRequest, CreateConfig, Fault, Identity, InspectRequest, LoginRequest, LoginResult,
        NetworkConfig, Secret,
    },
};
use serde_json::Value;

use crate::{
    credentials::Credentials,
    ledger::Ledger,
    login::sign_in,
    origin::{DEFAULT_ORIGIN, trusted},
    session::WeChatSession,
};

/// The one option of a sign-in.
pub(crate) const LOGIN_URL: &str = "login-url";

/// The WeChat channel.
pub struct WeChat {
    http: HttpClient,
    /// What was sent lately, by the bot: a new connection does not end a penalty.
    ledgers: Mutex<HashMap<Identified, Arc<Mutex<Ledger>>>>,
}

/// A bot, as far as its credentials name it.
type Identified = (String, Option<String>);

impl Channel for WeChat {
    type Session = WeChatSession;

    fn create(config: CreateConfig) -> Result<Self> {
        let http = HttpClient::new(http_config(config.network))
            .map_err(|error| Fault::config(error.to_string()))?;
        Ok(Self { http, ledgers: Mutex::default() })
    }

    fn inspect(&self, request: InspectRequest) -> Result<Identity> {
        Credentials::of_account(&request.account, request.credentials.expose())?.identity()
    }

    async fn login(&self, request: LoginRequest, ui: LoginUi) -> Result<LoginResult> {
        if let Some(name) = request.options.keys().find(|name| *name != LOGIN_URL) {
            return Err(Fault::config(format!(
                "WeChat's sign-in has no option '{name}'; leave it out, its one option is --{LOGIN_URL}"
            )));
        }
        let login = trusted(request.options.get(LOGIN_URL).map_or(DEFAULT_ORIGIN, String::as_str))?;
        sign_in(&self.http, login, request.saved, &ui).await
    }

    async fn connect(&self, request: ConnectRequest, stop: Stop) -> Result<WeChatSession> {
        let credentials = Credentials::of_account(&request.account, request.credentials.expose())?;
        let ledger = self.ledger((request.account, credentials.identity()?.bot_id));
        Ok(WeChatSession::new(self.http.clone(), credentials, request.checkpoint, stop, ledger))
    }

    async fn call(&self, op: &str, payload: Value) -> Result<Value> {
        match (op, &payload["text"]) {
            ("credentials.import", Value::String(text)) => Credentials::import(text)?.document(),
            ("credentials.import", _) => {
                Err(Fault::protocol("`credentials.import` takes the text of the file"))
            }
            _ => Err(Fault::unsupported(format!("WeChat has no operation '{op}'"))),
        }
    }
}

impl WeChat {
    fn ledger(&self, bot: Identified) -> Arc<Mutex<Ledger>> {
        let mut ledgers = self.ledgers.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(ledgers.entry(bot).or_default())
    }
}

fn http_config(network: NetworkConfig) -> HttpConfig {
    HttpConfig {
        https_proxy: network.https_proxy.map(Secret::into_inner),
        http_proxy: network.http_proxy.map(Secret::into_inner),
        no_proxy: network.no_proxy,
        extra_ca_pem: network.extra_ca_pem.map(String::into_bytes),
        user_agent: network.user_agent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bot_keeps_its_ledger_over_its_connections() {
        let plugin = WeChat::create(CreateConfig::default()).expect("the plugin");
        let of = |account: &str, bot: &str| plugin.ledger((account.into(), Some(bot.into())));
        assert!(Arc::ptr_eq(&of("default", "b1"), &of("default", "b1")));
        assert!(!Arc::ptr_eq(&of("default", "b1"), &of("default", "b2")), "signed in anew");
        assert!(!Arc::ptr_eq(&of("default", "b1"), &of("work", "b1")));
    }
}
