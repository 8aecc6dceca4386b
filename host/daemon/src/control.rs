//! `daemon.control`: what each command does, and how its failures are told.

use std::{sync::Arc, time::Duration};

use scv_bridge::{
    AccountArgs, AccountName, AccountsError, ChannelId, SettingsChange, Snapshot,
    accounts::retry_busy,
};
use scv_plugin_host::LoadedChannel;
use scv_protocol::{ControlCommand, DaemonStatus, ErrorCode};

use crate::{
    components::{Components, Key, NO_PLUGIN, revision},
    limits::PLUGIN_SHUTDOWN_MS,
    plugins::plugin_info,
    version_2,
};

/// Why a command failed; the text is safe to show anywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ControlError {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

/// An account that a command names.
pub(crate) struct Target {
    pub(crate) channel: ChannelId,
    pub(crate) account: AccountName,
    /// The channel, when a loaded plugin serves it.
    loaded: Option<LoadedChannel>,
}

impl Components {
    /// Runs one command and answers with the status after it, as `version` shows it.
    pub(crate) async fn control(
        self: &Arc<Self>,
        command: ControlCommand,
        version: u32,
    ) -> Result<DaemonStatus, ControlError> {
        if command == ControlCommand::Status {
            return Ok(self.view(self.status(), version));
        }
        if let ControlCommand::Logs { after, limit, plugin } = command {
            let logs = Some(self.parts.logs.page(after, limit, plugin.as_deref()));
            return Ok(self.view(DaemonStatus { logs, ..self.status() }, version));
        }
        let complete = self.until_complete().await;
        let known = self.parts.plugins.reports();
        let command =
            command.into_version_3(|prefix| version_2::channel_of(&known, prefix)).ok_or_else(
                || component("no plugin knows this command's channel; see `scv plugins list`"),
            )?;
        let (mut plugins, mut held) = (None, None);
        match command {
            ControlCommand::Reload => self.reload(complete).await,
            ControlCommand::Plugins => {
                if !self.parts.no_plugins {
                    self.parts.plugins.look().await;
                }
                let reports = self.parts.plugins.reports();
                plugins = Some(reports.iter().map(plugin_info).collect());
            }
            ControlCommand::ChannelSet {
                channel,
                account,
                enabled,
                workspace,
                remote_tools,
                senders,
            } => {
                let change =
                    SettingsChange { enabled: Some(enabled), workspace, remote_tools, senders };
                self.set(self.target(&channel, &account)?, change).await?;
            }
            ControlCommand::ChannelLogout { channel, account } => {
                self.logout(self.target(&channel, &account)?).await?;
            }
            ControlCommand::ChannelHeld { channel, account, show, drop } => {
                held = Some(self.held(&self.target(&channel, &account)?, show, drop).await?);
            }
            ControlCommand::ChannelSend { channel, account, text } => {
                self.send(&self.target(&channel, &account)?, text).await?;
            }
            _ => return Err(unsupported("delegations")),
        }
        Ok(self.view(DaemonStatus { plugins, held, ..self.status() }, version))
    }

    fn view(&self, status: DaemonStatus, version: u32) -> DaemonStatus {
        match version {
            2 => version_2::view(status, &self.parts.plugins.reports()),
            _ => status,
        }
    }

    async fn reload(self: &Arc<Self>, complete: bool) {
        let plugins = &self.parts.plugins;
        if !self.parts.no_plugins && complete {
            plugins.reload().await;
        }
        let changing = self.change().await;
        changing.poke();
        changing.reconcile().await;
        // Every account that was on them has been stopped and joined.
        plugins.end_retired(Duration::from_millis(PLUGIN_SHUTDOWN_MS)).await;
    }

    async fn set(
        self: &Arc<Self>,
        target: Target,
        settings: SettingsChange,
    ) -> Result<(), ControlError> {
        if settings.enabled == Some(true) && target.loaded.is_none() {
            return Err(component(NO_PLUGIN));
        }
        let accounts = &self.parts.accounts;
        let Target { channel, account, .. } = &target;
        let changing = self.change().await;
        retry_busy(|| accounts.set(channel, account, settings.clone()))
            .await
            .map_err(|error| component(error.to_string()))?;
        // A bridge that is just saving would make reconciliation wait for its next pass, so
        // one that must be replaced is stopped here.
        let now = retry_busy(|| accounts.snapshot(channel, account)).await;
        let channel = target.loaded.as_ref();
        let revision = |snapshot: Snapshot| Some(revision(&snapshot, channel?));
        let now = now.ok().flatten().and_then(revision);
        if now != changing.revision(&target.key()) {
            changing.stop(&[target.key()]).await;
        }
        changing.poke();
        changing.reconcile().await;
        Ok(())
    }

    async fn logout(self: &Arc<Self>, target: Target) -> Result<(), ControlError> {
        let accounts = &self.parts.accounts;
        let Target { channel, account, .. } = &target;
        let off = SettingsChange { enabled: Some(false), ..SettingsChange::default() };
        let changing = self.change().await;
        match retry_busy(|| accounts.set(channel, account, off.clone())).await {
            Ok(_) => {}
            // What is half removed or cannot be read must still be removable.
            Err(AccountsError::NotSignedIn { .. } | AccountsError::Damaged { .. }) => {}
            Err(error) => return Err(component(error.to_string())),
        }
        changing.stop(&[target.key()]).await;
        let removed = retry_busy(|| accounts.logout(channel, account)).await;
        changing.poke();
        changing.reconcile().await;
        removed.map_err(|error| component(error.to_string()))
    }

    /// Finds the account that a command names: a channel with a plugin, or a folder without.
    fn target(&self, channel: &str, account: &str) -> Result<Target, ControlError> {
        let account = AccountName::new(account).map_err(|error| ControlError {
            code: ErrorCode::InvalidRequest,
            message: error.to_string(),
        })?;
        let loaded = self.parts.plugins.find_channel(channel);
        let name = loaded.as_ref().map_or(channel, |found| &found.manifest.id);
        let unknown = || component("there is no such channel; see `scv plugins list`");
        let id = ChannelId::new(name).map_err(|_| unknown())?;
        if loaded.is_none() {
            let folders = self.parts.accounts.unclaimed(&[]);
            if !folders.is_ok_and(|folders| folders.contains(&id)) {
                return Err(unknown());
            }
        }
        Ok(Target { channel: id, account, loaded })
    }
}

impl Target {
    pub(crate) fn not_signed_in(&self) -> ControlError {
        let Self { channel, account, .. } = self;
        let args = AccountArgs { channel: channel.clone(), account: account.clone() };
        component(AccountsError::NotSignedIn(args).to_string())
    }

    pub(crate) fn key(&self) -> Key {
        Key { channel: self.channel.to_string(), account: self.account.to_string() }
    }
}

pub(crate) fn component(message: impl Into<String>) -> ControlError {
    ControlError { code: ErrorCode::ComponentError, message: message.into() }
}

fn unsupported(what: &str) -> ControlError {
    ControlError {
        code: ErrorCode::Unsupported,
        message: format!("this release does not serve {what} yet; a later one will"),
    }
}
