//! One look at what is saved: which accounts there are, and how each should stand.

use std::collections::{BTreeMap, BTreeSet};

use scv_bridge::{AccountName, Accounts, AccountsError, ChannelId, Snapshot, accounts::Migration};
use scv_plugin_api::wire::Secret;
use scv_plugin_host::{Claim, LoadedChannel};

use super::plan::{Key, Wanted};

/// Why a channel of which only a folder is known does nothing.
pub(crate) const NO_PLUGIN: &str = "no plugin for this channel is loaded; see `scv plugins list`";

/// How an account should stand.
pub(super) enum Mode {
    /// Signed in at a channel that is served: it runs, or rests when it is disabled.
    Served(Box<Served>),
    /// Its files cannot be used.
    Broken {
        /// The channel that would serve it.
        channel: Box<LoadedChannel>,
        /// What is wrong.
        error: String,
    },
    /// No plugin serves its channel.
    Orphan {
        /// As it is saved, where that can be read.
        enabled: bool,
    },
}

/// A signed-in account and the channel that serves it.
pub(super) struct Served {
    pub(super) channel: LoadedChannel,
    pub(super) account: AccountName,
    pub(super) snapshot: Snapshot,
}

/// The outcome of one look.
#[derive(Default)]
pub(super) struct Survey {
    pub(super) wanted: BTreeMap<Key, Wanted<Mode>>,
    /// What stands in the way of a whole channel, by its name.
    pub(super) faults: BTreeMap<String, String>,
    /// Channels with an old single credentials file to import, and its text.
    pub(super) imports: Vec<(LoadedChannel, ChannelId, Secret<String>)>,
}

/// Looks at everything that is saved. Blocks for a few file operations an account.
///
/// `complete` says that all plugins were looked for: only then is a folder without a plugin
/// a fault.
pub(super) fn survey(
    accounts: &Accounts,
    channels: Vec<LoadedChannel>,
    claims: &[Claim],
    complete: bool,
) -> Survey {
    let mut survey = Survey::default();
    let mut known = BTreeSet::new();
    for channel in channels {
        let id = match ChannelId::new(channel.manifest.id.as_str()) {
            Ok(id) => id,
            Err(error) => {
                survey.fault(&channel.manifest.id, error.to_string());
                continue;
            }
        };
        if let Err(error) = survey.served_channel(accounts, &channel, &id) {
            survey.fault(id.as_str(), error.to_string());
        }
        known.insert(id);
    }
    for claim in claims {
        let Ok(id) = ChannelId::new(claim.channel.as_str()) else {
            continue;
        };
        if known.insert(id.clone()) {
            let step = claim.refusal.step;
            let error = format!(
                "the plugin of this channel was refused at the step `{step}`; see `scv plugins list`"
            );
            survey.unserved_channel(accounts, &id, error);
        }
    }
    if complete {
        survey.unclaimed(accounts, known.into_iter().collect());
    }
    survey
}

impl Survey {
    /// Whether another look at the same files would find the same.
    pub(super) fn is_final(&self) -> bool {
        let is_served =
            |wanted: &Wanted<Mode>| matches!(wanted, Wanted::Be { what: Mode::Served(_), .. });
        self.faults.is_empty() && self.imports.is_empty() && self.wanted.values().all(is_served)
    }

    fn fault(&mut self, channel: &str, error: String) {
        self.faults.insert(channel.to_owned(), error);
    }

    fn served_channel(
        &mut self,
        accounts: &Accounts,
        channel: &LoadedChannel,
        id: &ChannelId,
    ) -> Result<(), AccountsError> {
        if let Some(legacy) = &channel.manifest.legacy {
            let Migration { moved, single_file } = accounts.migrate_legacy(legacy, id)?;
            if moved {
                tracing::info!(channel = %id, "moved the files of an older release");
            }
            if let Some(text) = single_file {
                self.imports.push((channel.clone(), id.clone(), text));
            }
        }
        for account in accounts.discover(id)? {
            let key = key(id, &account);
            let wanted = match accounts.snapshot(id, &account) {
                Ok(None) => continue,
                Ok(Some(snapshot)) => Wanted::Be {
                    revision: revision(&snapshot, channel),
                    what: Mode::Served(Box::new(Served {
                        channel: channel.clone(),
                        account,
                        snapshot,
                    })),
                },
                Err(error) if error.is_busy() => Wanted::Keep,
                Err(error) => broken(channel, &error),
            };
            self.wanted.insert(key, wanted);
        }
        Ok(())
    }

    /// Folders of channels that no plugin claims.
    fn unclaimed(&mut self, accounts: &Accounts, known: Vec<ChannelId>) {
        let unclaimed = match accounts.unclaimed(&known) {
            Ok(unclaimed) => unclaimed,
            Err(error) => return self.fault("channels", error.to_string()),
        };
        for id in unclaimed {
            self.unserved_channel(accounts, &id, NO_PLUGIN.to_owned());
        }
    }

    fn unserved_channel(&mut self, accounts: &Accounts, id: &ChannelId, error: String) {
        self.fault(id.as_str(), error);
        // A folder that cannot be listed adds nothing to the fault that is there already.
        for account in accounts.discover(id).unwrap_or_default() {
            let snapshot = accounts.snapshot(id, &account);
            let enabled = !matches!(snapshot, Ok(Some(s)) if !s.settings.enabled);
            let wanted = Wanted::Be {
                revision: format!("unserved, enabled: {enabled}"),
                what: Mode::Orphan { enabled },
            };
            self.wanted.insert(key(id, &account), wanted);
        }
    }
}

/// Changes with what is saved, and with the code that serves it.
pub(crate) fn revision(snapshot: &Snapshot, channel: &LoadedChannel) -> String {
    format!("{} {}", snapshot.revision, channel.sha256)
}

fn broken(channel: &LoadedChannel, error: &AccountsError) -> Wanted<Mode> {
    let error = error.to_string();
    Wanted::Be {
        revision: error.clone(),
        what: Mode::Broken { channel: Box::new(channel.clone()), error },
    }
}

fn key(channel: &ChannelId, account: &AccountName) -> Key {
    Key { channel: channel.to_string(), account: account.to_string() }
}
