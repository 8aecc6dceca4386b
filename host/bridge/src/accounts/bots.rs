//! Which account of a channel runs as which bot: of two with the same bot, the one started first.
//!
//! An account stands in line from its start to its end, however often it runs in between. Whose
//! bot it is the plugin tells only later; until then the accounts behind it wait.

use std::{collections::BTreeMap, sync::Arc};

use tokio::sync::watch;

use super::Accounts;
use crate::AccountName;

/// The accounts that stand, by when they were started.
type Line = BTreeMap<u64, Place>;

struct Place {
    channel: String,
    account: AccountName,
    bot: Bot,
}

#[derive(PartialEq, Eq)]
enum Bot {
    /// Not asked yet: the accounts behind it wait.
    Unknown,
    /// It runs as the bot of this fingerprint.
    Has(String),
    /// It does not run: its bot could not be told, or is another account's.
    None,
}

/// All tickets of a process.
#[derive(Clone, Default)]
pub(super) struct Bots(Arc<watch::Sender<Line>>);

/// An account's place in the line. Its clones are the same place, left when the last is dropped.
#[derive(Clone)]
pub struct Ticket(Arc<Standing>);

struct Standing {
    bots: Bots,
    number: u64,
}

impl Accounts {
    /// Puts an account of a channel at the end of the line: it runs only if no account that was
    /// put there earlier is the same bot.
    pub fn ticket(&self, channel: &str, account: &AccountName) -> Ticket {
        let (channel, account) = (channel.to_owned(), account.clone());
        let mut number = 0;
        self.bots.0.send_modify(|line| {
            number = line.last_key_value().map_or(0, |(last, _)| last + 1);
            line.insert(number, Place { channel, account, bot: Bot::Unknown });
        });
        Ticket(Arc::new(Standing { bots: self.bots.clone(), number }))
    }
}

impl Ticket {
    /// Takes the bot of `fingerprint`, after waiting for the accounts before this one to know
    /// theirs.
    ///
    /// # Errors
    /// The account that has it.
    pub(crate) async fn take(&self, fingerprint: &str) -> Result<(), AccountName> {
        let number = self.0.number;
        let mut line = self.line().subscribe();
        // It fails only without a sender, and the line is kept by this ticket.
        let _ = line.wait_for(|line| !is_behind_unknown(line, number)).await;
        let mut taken = Ok(());
        self.line().send_modify(|line| taken = take(line, number, fingerprint));
        taken
    }

    /// Waits until nobody has the bot of `fingerprint`.
    pub(crate) async fn until_free(&self, fingerprint: &str) {
        let number = self.0.number;
        let mut line = self.line().subscribe();
        let _ = line.wait_for(|line| owner(line, number, fingerprint).is_none()).await;
    }

    /// Makes nobody wait for this account once the guard is gone.
    pub(crate) fn asking(&self) -> Asking<'_> {
        Asking(self)
    }

    fn line(&self) -> &watch::Sender<Line> {
        &self.0.bots.0
    }
}

/// While a run finds out whose bot it is, see [`Ticket::asking`].
pub(crate) struct Asking<'a>(&'a Ticket);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let number = self.0.0.number;
        self.0.line().send_if_modified(|line| match line.get_mut(&number) {
            Some(place) if place.bot == Bot::Unknown => {
                place.bot = Bot::None;
                true
            }
            _ => false,
        });
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        self.bots.0.send_modify(|line| drop(line.remove(&self.number)));
    }
}

fn is_behind_unknown(line: &Line, number: u64) -> bool {
    let channel = line.get(&number).map(|place| &place.channel);
    let mut before = line.range(..number).map(|(_, place)| place);
    before.any(|place| Some(&place.channel) == channel && place.bot == Bot::Unknown)
}

/// Another account of the same channel that has a bot.
fn owner<'a>(line: &'a Line, number: u64, fingerprint: &str) -> Option<&'a AccountName> {
    let channel = &line.get(&number)?.channel;
    let mut others = line.iter().filter(|(other, _)| **other != number);
    let has = |place: &Place| matches!(&place.bot, Bot::Has(bot) if bot == fingerprint);
    let (_, place) = others.find(|(_, place)| place.channel == *channel && has(place))?;
    Some(&place.account)
}

fn take(line: &mut Line, number: u64, fingerprint: &str) -> Result<(), AccountName> {
    let owner = owner(line, number, fingerprint).cloned();
    if let Some(place) = line.get_mut(&number) {
        place.bot = match owner {
            Some(_) => Bot::None,
            None => Bot::Has(fingerprint.to_owned()),
        };
    }
    owner.map_or(Ok(()), Err)
}
