//! Calls to the platform's REST interface: tokens, answers, and what their codes mean.

mod answer;
mod codes;
mod exchange;
mod token;

use scv_http::{HttpClient, Request};
use scv_plugin_api::{
    Result,
    wire::{Fault, Secret},
};
use serde_json::json;
use tokio::sync::Mutex;

use self::token::Tokens;
pub(crate) use self::{
    answer::Answer,
    codes::{Class, meaning},
    exchange::{exchange, told},
};
use crate::{credentials::Credentials, limits::BODY_BYTES};

/// The REST interface as one app sees it.
pub(crate) struct Api {
    http: HttpClient,
    credentials: Credentials,
    tokens: Mutex<Tokens>,
}

impl Api {
    pub(crate) fn new(http: HttpClient, credentials: Credentials) -> Self {
        Self { http, credentials, tokens: Mutex::default() }
    }

    pub(crate) const fn http(&self) -> &HttpClient {
        &self.http
    }

    pub(crate) const fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// The name of this app's edition, for people.
    pub(crate) const fn title(&self) -> &'static str {
        self.credentials.brand.title()
    }

    /// The URL of a path of this app's edition.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.credentials.brand.open())
    }

    /// Calls with the app's token; one that is no longer good is renewed and the call repeated,
    /// once.
    ///
    /// # Errors
    /// When there is no answer, or no token; every answer is one, whatever its code.
    pub(crate) async fn call(&self, request: Request, max_body_bytes: usize) -> Result<Answer> {
        let token = self.token().await?;
        let signed = request.clone().bearer(token.expose());
        let answer = self.exchange(signed, max_body_bytes).await?;
        if answer.class() != Class::Token {
            return Ok(answer);
        }
        self.tokens.lock().await.forget(&token);
        let token = self.token().await?;
        self.exchange(request.bearer(token.expose()), max_body_bytes).await
    }

    /// Calls without a token.
    ///
    /// # Errors
    /// When there is no answer; every answer is one, whatever its code.
    pub(crate) async fn exchange(&self, request: Request, max_body_bytes: usize) -> Result<Answer> {
        exchange(&self.http, self.credentials.brand, request, max_body_bytes).await
    }

    /// The app's token, from the cache while it is good.
    ///
    /// # Errors
    /// [`FaultKind::Auth`](scv_plugin_api::wire::FaultKind::Auth) when the secret is refused.
    pub(crate) async fn token(&self) -> Result<Secret> {
        // Locked for the whole call: those who come meanwhile take its result.
        let mut tokens = self.tokens.lock().await;
        if let Some(token) = tokens.current() {
            return Ok(token);
        }
        let Credentials { app_id, app_secret, .. } = &self.credentials;
        let request = Request::post(self.url("/open-apis/auth/v3/tenant_access_token/internal"))
            .json(&json!({"app_id": app_id, "app_secret": app_secret.expose()}));
        let answer = self.exchange(request, BODY_BYTES).await?;
        if answer.class() != Class::Good {
            return Err(no_token(&answer));
        }
        tokens.learn(&answer).ok_or_else(|| {
            Fault::protocol("the platform's answer holds no token; it is asked again")
        })
    }
}

fn no_token(answer: &Answer) -> Fault {
    if codes::is_wrong_secret(answer.code()) {
        let text = "the platform refuses the app id or its secret; sign in again";
        return answer.fault(Fault::auth(text));
    }
    answer.fault(Fault::retry("the platform gives this app no token now; it is asked again"))
}
