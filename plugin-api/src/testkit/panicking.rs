//! An author's channel in which one callback panics, after the author's own code has run in it:
//! what that code made is dropped while the panic unwinds.

use crate::{
    BatchToken, Channel, LoginUi, Result, Session, Stop,
    plugin::Exported,
    wire::{
        Batch, ConnectRequest, CreateConfig, Identity, InspectRequest, LoginRequest, LoginResult,
        Outgoing, SendOutcome,
    },
};

/// The setting that names the callback; the author's code does not see it.
const SETTING: &str = "testkit_panics_in";

/// Where a panic can come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Callback {
    Create,
    Inspect,
    Login,
    Connect,
    NextBatch,
    Send,
    Close,
    DropSession,
    DropChannel,
}

impl Callback {
    pub(super) const ALL: [Self; 9] = [
        Self::Create,
        Self::Inspect,
        Self::Login,
        Self::Connect,
        Self::NextBatch,
        Self::Send,
        Self::Close,
        Self::DropSession,
        Self::DropChannel,
    ];

    /// Settings with which this callback panics.
    pub(super) fn chosen(self, mut config: CreateConfig) -> CreateConfig {
        config.settings.insert(SETTING.to_owned(), format!("{self:?}").into());
        config
    }

    fn of(config: &mut CreateConfig) -> Option<Self> {
        let name = config.settings.remove(SETTING)?;
        Self::ALL.into_iter().find(|callback| name == format!("{callback:?}"))
    }
}

/// The channel, and where it panics.
pub(super) struct Panicking<C> {
    inner: C,
    callback: Option<Callback>,
}

/// A session of it.
pub(super) struct PanickingSession<S> {
    inner: S,
    callback: Option<Callback>,
}

fn strike(chosen: Option<Callback>, here: Callback) {
    assert!(chosen != Some(here), "the conformance kit panics in {here:?}");
}

impl<C: Exported> Exported for Panicking<C> {
    const MANIFEST: &'static str = C::MANIFEST;
}

impl<C: Channel> Channel for Panicking<C> {
    type Session = PanickingSession<C::Session>;

    fn create(mut config: CreateConfig) -> Result<Self> {
        let callback = Callback::of(&mut config);
        let inner = C::create(config)?;
        strike(callback, Callback::Create);
        Ok(Self { inner, callback })
    }

    fn inspect(&self, request: InspectRequest) -> Result<Identity> {
        let identity = self.inner.inspect(request)?;
        strike(self.callback, Callback::Inspect);
        Ok(identity)
    }

    async fn login(&self, request: LoginRequest, ui: LoginUi) -> Result<LoginResult> {
        let result = self.inner.login(request, ui).await?;
        strike(self.callback, Callback::Login);
        Ok(result)
    }

    async fn connect(&self, request: ConnectRequest, stop: Stop) -> Result<Self::Session> {
        let inner = self.inner.connect(request, stop).await?;
        strike(self.callback, Callback::Connect);
        Ok(PanickingSession { inner, callback: self.callback })
    }
}

impl<S: Session> Session for PanickingSession<S> {
    async fn next_batch(&self, ack: Option<BatchToken>) -> Result<Batch> {
        let batch = self.inner.next_batch(ack).await?;
        strike(self.callback, Callback::NextBatch);
        Ok(batch)
    }

    async fn send(&self, message: Outgoing) -> Result<SendOutcome> {
        let outcome = self.inner.send(message).await?;
        strike(self.callback, Callback::Send);
        Ok(outcome)
    }

    async fn close(&self) {
        self.inner.close().await;
        strike(self.callback, Callback::Close);
    }
}

impl<C> Drop for Panicking<C> {
    fn drop(&mut self) {
        strike(self.callback, Callback::DropChannel);
    }
}

impl<S> Drop for PanickingSession<S> {
    fn drop(&mut self) {
        strike(self.callback, Callback::DropSession);
    }
}
