//! Saving the credentials that a sign-in brought, without ever replacing another bot's.

use scv_plugin_api::{
    host::ChannelTransport,
    wire::{ChannelManifest, Fault, Identity, InspectRequest, Relogin, Secret},
};
use serde_json::Value;

use super::{Accounts, AccountsError, error::What, fingerprint, retry_busy};
use crate::{AccountArgs, AccountName, ChannelId};

/// Saved credentials.
#[derive(Debug, Clone, PartialEq)]
pub struct Saved {
    /// What the plugin made at sign-in.
    pub credentials: Secret<Value>,
    /// Changes whenever the file changes.
    pub revision: String,
}

/// Whose the saved credentials are, as of one revision of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedIdentity {
    /// From [`Saved`].
    pub revision: String,
    /// [`fingerprint`] of what the plugin says about them.
    pub fingerprint: String,
}

/// Why new credentials were not saved.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The accounts said no.
    #[error(transparent)]
    Accounts(#[from] AccountsError),
    /// The plugin could not tell whose credentials these are.
    #[error("the plugin could not tell whose credentials these are ({0}); sign in again")]
    Inspect(Fault),
}

impl Accounts {
    /// What is saved for an account.
    ///
    /// # Errors
    /// [`AccountsError::Busy`], [`AccountsError::Damaged`].
    pub fn read_saved(
        &self,
        channel: &ChannelId,
        account: &AccountName,
    ) -> Result<Option<Saved>, AccountsError> {
        if self.entry_is_missing(&self.files(channel, account).credentials())? {
            return Ok(None);
        }
        self.transaction(channel, account)?.credentials()
    }

    /// Refuses early, before anything is drawn, a sign-in that could never be saved.
    ///
    /// # Errors
    /// [`AccountsError::SignedIn`] for a channel that wants a logout first.
    pub fn may_sign_in(
        &self,
        channel: &ChannelId,
        account: &AccountName,
        relogin: Relogin,
    ) -> Result<(), AccountsError> {
        let missing = self.entry_is_missing(&self.files(channel, account).credentials())?;
        match relogin {
            Relogin::SameIdentity => Ok(()),
            Relogin::LogoutFirst | Relogin::Unknown if missing => Ok(()),
            Relogin::LogoutFirst | Relogin::Unknown => {
                Err(AccountsError::SignedIn(AccountArgs::new(channel, account)))
            }
        }
    }

    /// Saves new credentials if the ones saved by then may be replaced.
    ///
    /// # Errors
    /// [`AccountsError::Changed`] when what is saved is not `saved` any more,
    /// [`AccountsError::SignedIn`] and [`AccountsError::OtherIdentity`] by `relogin`,
    /// [`AccountsError::Busy`].
    pub fn save_credentials(
        &self,
        channel: &ChannelId,
        account: &AccountName,
        credentials: &Secret<Value>,
        new_fingerprint: &str,
        relogin: Relogin,
        saved: Option<&SavedIdentity>,
    ) -> Result<(), AccountsError> {
        let transaction = self.transaction(channel, account)?;
        let current = transaction.credentials()?;
        if current.as_ref().map(|c| &c.revision) != saved.map(|s| &s.revision) {
            return Err(AccountsError::Changed);
        }
        let args = || AccountArgs::new(channel, account);
        match (saved, relogin) {
            (None, _) => {}
            (Some(_), Relogin::LogoutFirst | Relogin::Unknown) => {
                return Err(AccountsError::SignedIn(args()));
            }
            (Some(saved), Relogin::SameIdentity) if saved.fingerprint != new_fingerprint => {
                return Err(AccountsError::OtherIdentity(args()));
            }
            (Some(_), Relogin::SameIdentity) => {}
        }
        if saved.is_none() {
            self.clear_interrupted_logout(&transaction)?;
        }
        transaction.write_credentials(credentials)
    }

    /// A journal without credentials and without a base is what a logout left that was cut off.
    fn clear_interrupted_logout(
        &self,
        transaction: &super::Transaction,
    ) -> Result<(), AccountsError> {
        let files = transaction.files();
        let base = self.fs().entry(&files.state());
        if base.map_err(|error| AccountsError::io(What::Account, &error))?.is_none() {
            transaction.remove(&files.journal())?;
            transaction.remove(&files.keys())?;
        }
        Ok(())
    }
}

/// Saves what a sign-in brought: asks the plugin whose it is and whose the saved ones are,
/// then saves, waiting out a busy account.
///
/// # Errors
/// See [`LoginError`].
pub async fn store_login(
    accounts: &Accounts,
    transport: &dyn ChannelTransport,
    channel: &ChannelManifest,
    account: &AccountName,
    credentials: Secret<Value>,
) -> Result<Identity, LoginError> {
    let id = ChannelId::new(channel.id.as_str()).map_err(AccountsError::from)?;
    let inspect = |credentials: Secret<Value>| {
        transport.inspect(InspectRequest {
            channel: channel.id.clone(),
            account: account.to_string(),
            credentials,
        })
    };
    let identity = inspect(credentials.clone()).await.map_err(LoginError::Inspect)?;
    let saved = match retry_busy(|| accounts.read_saved(&id, account)).await? {
        None => None,
        Some(saved) => {
            let of_saved = inspect(saved.credentials).await.map_err(LoginError::Inspect)?;
            Some(SavedIdentity { revision: saved.revision, fingerprint: fingerprint(&of_saved) })
        }
    };
    let new = fingerprint(&identity);
    retry_busy(|| {
        accounts.save_credentials(&id, account, &credentials, &new, channel.relogin, saved.as_ref())
    })
    .await?;
    Ok(identity)
}
