//! The plugin: one HTTP client for all accounts, and the operations of a channel.

use std::sync::Arc;

use scv_http::{HttpClient, HttpConfig};
use scv_plugin_api::{
    Channel, LoginUi, Result, Stop,
    wire::{
        ConnectRequest, CreateConfig, Fault, Identity, InspectRequest, LoginRequest, LoginResult,
        NetworkConfig, Secret,
    },
};

use crate::{
    brand::Brand,
    catchup::Refusals,
    credentials::Credentials,
    login::{sign_in_by_scan, sign_in_with_app},
    rest::Api,
    session::FeishuSession,
};

/// An app that exists.
pub(crate) const APP_ID: &str = "app-id";
/// Who may be granted tools on it.
pub(crate) const OWNER_OPEN_ID: &str = "owner-open-id";

/// The Feishu channel, Lark included.
pub struct Feishu {
    http: HttpClient,
    refusals: Refusals,
}

impl Channel for Feishu {
    type Session = FeishuSession;

    fn create(config: CreateConfig) -> Result<Self> {
        let http = HttpClient::new(http_config(config.network));
        let http = http.map_err(|error| Fault::config(error.to_string()))?;
        Ok(Self { http, refusals: Refusals::default() })
    }

    fn inspect(&self, request: InspectRequest) -> Result<Identity> {
        Ok(Credentials::of_account(&request.account, request.credentials.expose())?.identity())
    }

    async fn login(&self, request: LoginRequest, ui: LoginUi) -> Result<LoginResult> {
        let known = [APP_ID, OWNER_OPEN_ID];
        if let Some(name) = request.options.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(Fault::config(format!(
                "Feishu's sign-in has no option '{name}'; leave it out, its options are --{APP_ID} \
                 and --{OWNER_OPEN_ID}"
            )));
        }
        let brand = Brand::named(&request.called_as).unwrap_or(Brand::Feishu);
        let owner = request.options.get(OWNER_OPEN_ID).cloned();
        match (request.options.get(APP_ID), owner) {
            (Some(app_id), owner) => sign_in_with_app(&self.http, brand, app_id, owner, &ui).await,
            (None, None) => sign_in_by_scan(&self.http, brand, &ui).await,
            (None, Some(_)) => Err(Fault::config(format!(
                "--{OWNER_OPEN_ID} goes with --{APP_ID}; a scan makes the person who confirms it \
                 the owner"
            ))),
        }
    }

    async fn connect(&self, request: ConnectRequest, stop: Stop) -> Result<FeishuSession> {
        let credentials = Credentials::of_account(&request.account, request.credentials.expose())?;
        let api = Arc::new(Api::new(self.http.clone(), credentials));
        let checkpoint = request.checkpoint.as_deref();
        FeishuSession::connect(api, checkpoint, self.refusals.clone(), stop).await
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
