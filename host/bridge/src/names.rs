//! Names that become parts of paths: checked once, when they are made.

use std::fmt;

use crate::limits::{MAX_ACCOUNT_NAME_BYTES, MAX_CHANNEL_ID_BYTES};

/// A name that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Not an account's name.
    #[error(
        "an account name has 1 to {MAX_ACCOUNT_NAME_BYTES} ASCII letters, digits, `_` and `-`; choose another name"
    )]
    Account,
    /// Not a channel's id.
    #[error(
        "a channel id has 1 to {MAX_CHANNEL_ID_BYTES} lower-case letters, digits, `_` and `-` and begins with a letter; see `scv plugins list`"
    )]
    Channel,
}

/// An account's name: 1 to 64 ASCII letters, digits, `_` and `-`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountName(String);

impl AccountName {
    /// The account that commands mean when none is named.
    pub const DEFAULT: &'static str = "default";

    /// Checks a name.
    ///
    /// # Errors
    /// [`NameError::Account`].
    pub fn new(name: impl Into<String>) -> Result<Self, NameError> {
        let name = name.into();
        let good = !name.is_empty()
            && name.len() <= MAX_ACCOUNT_NAME_BYTES
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        good.then_some(Self(name)).ok_or(NameError::Account)
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for AccountName {
    fn default() -> Self {
        Self(Self::DEFAULT.to_owned())
    }
}

/// A channel's id as a manifest gives it: `[a-z][a-z0-9_-]{0,31}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelId(String);

impl ChannelId {
    /// Checks an id.
    ///
    /// # Errors
    /// [`NameError::Channel`].
    pub fn new(id: impl Into<String>) -> Result<Self, NameError> {
        let id = id.into();
        let good = id.len() <= MAX_CHANNEL_ID_BYTES
            && id.starts_with(|c: char| c.is_ascii_lowercase())
            && id
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-');
        good.then_some(Self(id)).ok_or(NameError::Channel)
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

macro_rules! text_name {
    ($name:ident, $error:ty) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                Self::new(text)
            }
        }
    };
}

text_name!(AccountName, NameError);
text_name!(ChannelId, NameError);

/// An account as the arguments of a command name it: `pigeon`, or `pigeon --account work`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountArgs {
    /// The channel.
    pub channel: ChannelId,
    /// The account; not written when it is the one that commands mean anyway.
    pub account: AccountName,
}

impl AccountArgs {
    pub(crate) fn new(channel: &ChannelId, account: &AccountName) -> Self {
        Self { channel: channel.clone(), account: account.clone() }
    }
}

impl fmt::Display for AccountArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.account.as_str() {
            AccountName::DEFAULT => write!(f, "{}", self.channel),
            name => write!(f, "{} --account {name}", self.channel),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn account_names() {
        let long = "a".repeat(64);
        for good in ["default", "Work-2", "_", long.as_str()] {
            assert!(AccountName::new(good).is_ok(), "{good}");
        }
        let longer = "a".repeat(65);
        for bad in ["", ".", "..", "a/b", "a b", "a.json", "ü", "a\0", longer.as_str()] {
            assert_eq!(AccountName::new(bad), Err(NameError::Account), "{bad}");
        }
    }

    #[test]
    fn channel_ids() {
        let long = format!("a{}", "b".repeat(31));
        for good in ["demo", "a-1_b", long.as_str()] {
            assert!(ChannelId::new(good).is_ok(), "{good}");
        }
        let longer = format!("a{}", "b".repeat(32));
        for bad in ["", "Demo", "1a", "-a", "a/b", "..", longer.as_str()] {
            assert_eq!(ChannelId::new(bad), Err(NameError::Channel), "{bad}");
        }
    }
}
