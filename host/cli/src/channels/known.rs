//! What plugin files say about channels, without running their code: spellings of names, and
//! where older releases kept files, which each command moves to where they belong.

use anyhow::anyhow;
use scv_bridge::{AccountName, Accounts, AccountsError, ChannelId, accounts::Migration};
use scv_daemon::channel_fault;
use scv_plugin_api::wire::ChannelManifest;
use scv_plugin_host::{PluginState, scan};
use scv_protocol::{Component, ControlCommand};

use super::args::{AccountArg, AccountArgs};
use crate::{args::PluginDirs, context::Context, exit, terminal::harmless};

/// The option of a sign-in that names the owner, where a platform knows none.
const OWNER_OPTION: &str = "owner";

/// The channels of the plugins that would be loaded.
#[derive(Default)]
pub(super) struct Known(Vec<ChannelManifest>);

impl Known {
    pub(super) fn look(context: &Context, plugins: &PluginDirs) -> anyhow::Result<Self> {
        let config = context.plugins_config()?;
        let search = context.search(plugins, &config)?;
        let plugins = scan(&search, &config.policy()).into_iter();
        let loadable = plugins.filter(|plugin| plugin.state == PluginState::Ready);
        Ok(Self(loadable.filter_map(|plugin| plugin.manifest).flat_map(|m| m.channels).collect()))
    }

    /// The id of the channel that people call by this name; the name itself when nobody knows it.
    pub(super) fn id_of<'a>(&'a self, name: &'a str) -> &'a str {
        self.named(name).map_or(name, |channel| &channel.id)
    }

    /// Refuses a name that means no channel: not to a plugin file that is seen from here, to no
    /// plugin of the daemon, which may look in other folders, and to no folder of accounts.
    pub(super) async fn check(
        &self,
        context: &Context,
        accounts: &Accounts,
        name: &str,
    ) -> anyhow::Result<()> {
        let folders = accounts.unclaimed(&[]).unwrap_or_default();
        if self.named(name).is_some() || folders.iter().any(|id| id.as_str() == name) {
            return Ok(());
        }
        let plugins = context.ask(ControlCommand::Plugins).await?.and_then(|s| s.plugins);
        let mut served = plugins.iter().flatten().flat_map(|plugin| &plugin.channels);
        match served.any(|channel| channel == name) {
            true => Ok(()),
            false => Err(no_channel(name)),
        }
    }

    /// Moves the old files of every channel; what stands in the way is a row of the status.
    pub(super) fn adopt_all(&self, accounts: &Accounts) -> Vec<Component> {
        let fault = |channel: &ChannelManifest| {
            let error = adopt(accounts, channel).err()?;
            Some(channel_fault(&channel.id, error.to_string()))
        };
        self.0.iter().filter_map(fault).collect()
    }

    /// Moves the old files of the channel that people call by this name.
    pub(super) fn adopt(&self, accounts: &Accounts, name: &str) -> anyhow::Result<()> {
        self.named(name).map_or(Ok(()), |channel| adopt(accounts, channel).map(drop))
    }

    /// How a person names the owner of an account, where that is not for the platform to do.
    pub(super) fn naming_owner(&self, args: &AccountArgs) -> Option<String> {
        let AccountArgs { channel, account: AccountArg { name } } = args;
        let options = &self.named(channel)?.login_options;
        options.iter().find(|option| option.name == OWNER_OPTION)?;
        let account = match name.as_str() {
            AccountName::DEFAULT => String::new(),
            name => format!(" --account {name}"),
        };
        Some(format!("sign in again with `scv channels login {channel}{account} --owner NAME`"))
    }

    fn named(&self, name: &str) -> Option<&ChannelManifest> {
        self.0.iter().find(|channel| channel.names().any(|known| known == name))
    }
}

/// The name means no channel.
pub(super) fn no_channel(name: &str) -> anyhow::Error {
    exit::usage(format!(
        "there is no channel '{}'; `scv plugins list` shows those there are",
        harmless(name)
    ))
}

/// Moves what an older release kept of a channel. It may have left a single file, which only
/// the plugin itself can read; none also for a channel that no older release knew.
pub(super) fn adopt(
    accounts: &Accounts,
    channel: &ChannelManifest,
) -> anyhow::Result<Option<Migration>> {
    let Some(legacy) = &channel.legacy else {
        return Ok(None);
    };
    let id = ChannelId::new(channel.id.as_str())?;
    match accounts.migrate_legacy(legacy, &id) {
        Ok(migration) => Ok(Some(migration)),
        Err(AccountsError::BothHomes) => {
            let home = accounts.home();
            Err(anyhow!(
                "the channel has files both in {} and in {}; keep one folder and move the other aside",
                home.legacy_dir(&legacy.home_dir).display(),
                home.channel_dir(&id).display()
            ))
        }
        Err(error) => Err(error.into()),
    }
}
