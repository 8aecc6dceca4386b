//! The held replies of an account that does not run.

use crate::{
    AccountArgs, AccountName, Accounts, AccountsError, ChannelId,
    machine::AskError,
    store::{self, Change, Held, Image, Opened, StoreError},
};

/// Why held replies could not be listed or given up; whole sentences.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestError {
    /// The accounts said no.
    #[error(transparent)]
    Accounts(#[from] AccountsError),
    /// The state cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no such reply.
    #[error(transparent)]
    Refused(#[from] AskError),
}

impl RestError {
    /// Whether a later try may succeed without anybody doing anything.
    pub const fn is_busy(&self) -> bool {
        matches!(self, Self::Accounts(AccountsError::Busy) | Self::Store(StoreError::Busy))
    }
}

impl Accounts {
    /// The held replies of a signed-in account, running or not.
    ///
    /// # Errors
    /// [`AccountsError::NotSignedIn`], and those of the store.
    pub fn held(&self, channel: &ChannelId, account: &AccountName) -> Result<Vec<Held>, RestError> {
        if self.read_saved(channel, account)?.is_none() {
            return Err(AccountsError::NotSignedIn(AccountArgs::new(channel, account)).into());
        }
        Ok(store::read(self, channel, account)?.held().to_vec())
    }

    /// Gives up held replies, by their ids, of an account that does not run.
    ///
    /// # Errors
    /// [`AskError::NoSuchHeld`] when one is not there (none is given up then),
    /// [`AccountsError::Running`] when the account runs after all, and those of the store.
    pub fn give_up_held(
        &self,
        channel: &ChannelId,
        account: &AccountName,
        ids: &[String],
    ) -> Result<(), RestError> {
        let held = self.held(channel, account)?;
        if !ids.iter().all(|id| held.iter().any(|held| held.id() == *id)) {
            return Err(AskError::NoSuchHeld.into());
        }
        let lifetime = self.lifetime(channel, account)?;
        // Nothing is sent, so it does not matter here whose state it is.
        let bound = store::read(self, channel, account)?.fingerprint().map(str::to_owned);
        let Some(bound) = bound else {
            return Ok(());
        };
        let Opened { mut state, mut log, .. } =
            store::open(self, channel, account, lifetime, &bound)?;
        let change = Change::GiveUp(ids.to_vec());
        log.append([&change])?;
        state.apply(&change).map_err(|_| AskError::NotStored)?;
        Ok(log.fold(&Image::of(&state))?)
    }
}
