//! What a sign-in shows and asks, through the host.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use crate::{
    Result,
    wire::{Fault, LoginEventBody, PromptAnswer, PromptKind, Secret},
};

type Answer = Pin<Box<dyn Future<Output = Result<PromptAnswer>> + Send>>;

/// Shows things to the person who signs in, and asks. Clones speak to the same person.
///
/// Every method fails with [`Fault::cancelled`] once the sign-in is over.
#[derive(Clone)]
pub struct LoginUi(Arc<dyn Fn(LoginEventBody) -> Answer + Send + Sync>);

impl LoginUi {
    /// A sign-in whose events go to `show`; the SDK makes the real one, tests make their own.
    pub fn from_fn<S, F>(show: S) -> Self
    where
        S: Fn(LoginEventBody) -> F + Send + Sync + 'static,
        F: Future<Output = Result<PromptAnswer>> + Send + 'static,
    {
        Self(Arc::new(move |event| Box::pin(show(event))))
    }

    /// Shows a QR code holding `data`, good for `expires_ms` milliseconds, `text` above it.
    pub async fn qr(
        &self,
        data: impl Into<String> + Send,
        expires_ms: Option<u64>,
        text: Option<String>,
    ) -> Result<()> {
        let data = Secret::new(data.into());
        self.show(LoginEventBody::Qr { data, expires_ms, text }).await
    }

    /// Shows a link to open, `text` above it.
    pub async fn link(
        &self,
        url: impl Into<String> + Send,
        text: impl Into<String> + Send,
    ) -> Result<()> {
        let url = Secret::new(url.into());
        let text = text.into();
        self.show(LoginEventBody::Link { url, text }).await
    }

    /// Asks for a line of text. `name` is for scripts, `text` is the question.
    pub async fn prompt(
        &self,
        name: impl Into<String> + Send,
        text: impl Into<String> + Send,
    ) -> Result<String> {
        let answer = self.ask(name.into(), text.into(), false, Vec::new()).await?;
        Ok(answer.into_inner())
    }

    /// Asks for a line of text that must not be shown while it is typed.
    pub async fn prompt_secret(
        &self,
        name: impl Into<String> + Send,
        text: impl Into<String> + Send,
    ) -> Result<Secret> {
        self.ask(name.into(), text.into(), true, Vec::new()).await
    }

    /// Asks for one of the choices; what the host answers is one of them.
    pub async fn prompt_choice(
        &self,
        name: impl Into<String> + Send,
        text: impl Into<String> + Send,
        choices: Vec<String>,
    ) -> Result<String> {
        let known = choices.clone();
        let answer = self.ask(name.into(), text.into(), false, choices).await?.into_inner();
        if !known.contains(&answer) {
            return Err(Fault::protocol("the host answered none of the choices"));
        }
        Ok(answer)
    }

    /// Says what is going on; a later one replaces it.
    pub async fn progress(&self, text: impl Into<String> + Send) -> Result<()> {
        self.show(LoginEventBody::Progress { text: text.into() }).await
    }

    /// Says something that the person should read.
    pub async fn notice(&self, text: impl Into<String> + Send) -> Result<()> {
        self.show(LoginEventBody::Notice { text: text.into() }).await
    }

    async fn show(&self, event: LoginEventBody) -> Result<()> {
        (self.0)(event).await.map(drop)
    }

    async fn ask(
        &self,
        name: String,
        text: String,
        secret: bool,
        choices: Vec<String>,
    ) -> Result<Secret> {
        let kind = if choices.is_empty() { PromptKind::Text } else { PromptKind::Choice };
        let event = LoginEventBody::Prompt { name, text, secret, kind, choices };
        match (self.0)(event).await? {
            PromptAnswer { cancelled: false, answer: Some(answer) } => Ok(answer),
            _ => Err(Fault::cancelled("the sign-in was given up")),
        }
    }
}

impl fmt::Debug for LoginUi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LoginUi")
    }
}
