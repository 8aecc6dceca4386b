//! Held replies, and messages to an account's owner.

use std::{sync::Arc, time::Duration};

use scv_bridge::{
    DeskError, RestError,
    limits::{BUSY_RETRY_MS, BUSY_STEP_MS},
    machine::Ask,
    store::Held,
};
use scv_protocol::HeldReply;
use tokio::{
    task::spawn_blocking,
    time::{Instant, sleep},
};

use crate::{
    components::Components,
    control::{ControlError, Target, component},
};

impl Components {
    /// Gives up the replies that `drop` names, and lists those that are held then. An account
    /// that does not run is looked up on disk.
    pub(crate) async fn held(
        self: &Arc<Self>,
        target: &Target,
        show: bool,
        drop: Vec<String>,
    ) -> Result<Vec<HeldReply>, ControlError> {
        let held = match self.held_while_running(target, &drop).await {
            Err(DeskError::NotRunning) => self.held_at_rest(target, drop).await?,
            ended => ended.map_err(|error| component(error.to_string()))?,
        };
        Ok(held.into_iter().map(|held| reply(held, show)).collect())
    }

    /// Sends a text to the owner; it is stored when this returns.
    pub(crate) async fn send(&self, target: &Target, text: String) -> Result<(), ControlError> {
        let desk = self.desk(&target.key());
        let sent = match desk {
            Some(desk) => desk.ask(Ask::Send(text)).await,
            None if !self.is_listed(&target.key()) => return Err(target.not_signed_in()),
            None => Err(DeskError::NotRunning),
        };
        sent.map_err(|error| component(error.to_string()))
    }

    async fn held_while_running(
        &self,
        target: &Target,
        drop: &[String],
    ) -> Result<Vec<Held>, DeskError> {
        let desk = self.desk(&target.key()).ok_or(DeskError::NotRunning)?;
        if !drop.is_empty() {
            desk.ask(Ask::GiveUp(drop.to_vec())).await?;
        }
        desk.held().await
    }

    async fn held_at_rest(
        self: &Arc<Self>,
        target: &Target,
        drop: Vec<String>,
    ) -> Result<Vec<Held>, ControlError> {
        // Nothing starts meanwhile.
        let _changing = self.change().await;
        let give_up = Instant::now() + Duration::from_millis(BUSY_RETRY_MS);
        loop {
            let accounts = Arc::clone(&self.parts.accounts);
            let (channel, account) = (target.channel.clone(), target.account.clone());
            let drop = drop.clone();
            let look = move || -> Result<_, RestError> {
                if !drop.is_empty() {
                    accounts.give_up_held(&channel, &account, &drop)?;
                }
                accounts.held(&channel, &account)
            };
            match spawn_blocking(look).await {
                Ok(Err(error)) if error.is_busy() && Instant::now() < give_up => {
                    sleep(Duration::from_millis(BUSY_STEP_MS)).await;
                }
                Ok(ended) => return ended.map_err(|error| component(error.to_string())),
                Err(_) => return Err(component("looking at the account failed; the log says why")),
            }
        }
    }
}

fn reply(held: Held, show: bool) -> HeldReply {
    HeldReply {
        id: held.id(),
        group: held.key.split_once('\0').map(|(group, _)| group.to_owned()),
        user_id: held.to_user_id,
        held_at_unix_seconds: held.held_at,
        bytes: held.reply.len() as u64,
        text: show.then_some(held.reply),
    }
}
