//! A whole life of an account (sign-in, 20 messages, replies that are tried again or refused,
//! logout) with a fault at each of its file operations in turn. However it goes on, nothing is
//! lost, no turn runs twice, and nothing is sent that is not pending on disk.

use std::{collections::HashSet, io, sync::Arc, time::Duration};

use scv_bridge::{Accounts, AccountsError, RestError, store};
use scv_plugin_api::wire::{Inbound, Outgoing, Scope, SendOutcome};
use tokio::time::sleep;

use crate::support::{
    agent::Agent,
    faulty::{Fault, FaultyFileSystem},
    home::{BOT, TestHome},
    platform::{Platform, Witness, direct},
    run::{start, start_over, state_of},
    until,
};

const MESSAGES: usize = 20;

fn id(n: usize) -> String {
    format!("m{n}")
}

fn messages() -> impl Iterator<Item = Inbound> {
    (0..MESSAGES).map(|n| direct(&id(n), &format!("u{}", n % 5), &format!("say answer {n}")))
}

/// Six sends are to be tried again, and one is refused.
fn outcomes() -> impl Iterator<Item = SendOutcome> {
    (0..MESSAGES).map(|n| match n {
        3 => SendOutcome::Refused {
            code: "no".into(),
            message: None,
            signed_out: false,
            pause_ms: None,
            scope: Scope::Message,
        },
        n if n % 3 == 1 && n < 18 => {
            SendOutcome::Retry { reason: "later".into(), after_ms: None, scope: Scope::Message }
        }
        _ => SendOutcome::Accepted { receipt: Some("r".into()) },
    })
}

struct Life {
    home: TestHome,
    fs: FaultyFileSystem,
    accounts: Arc<Accounts>,
    platform: Platform,
    agent: Agent,
    name: String,
}

impl Life {
    fn new(at: usize, fault: Fault) -> Self {
        let (home, fs) = (TestHome::new(), FaultyFileSystem::new(at, fault));
        let platform = Platform::new();
        platform.state(|state| {
            state.outcomes.extend(outcomes());
            state.witness = Some(witness(&home));
        });
        let accounts = home.over(Arc::new(fs.clone()));
        let name = format!("{fault:?} at {at}");
        Self { home, fs, accounts, platform, agent: Agent::default(), name }
    }

    async fn run(&self) {
        self.sign_in();
        self.begin().await;
        self.go_on().await;
        self.log_out();
    }

    fn sign_in(&self) {
        if self.home.sign_in_over(&self.accounts, BOT, None).is_ok() {
            return;
        }
        let saved = self.home.accounts.read_saved(&self.home.channel, &self.home.account);
        if saved.unwrap().is_none() {
            self.home.sign_in(BOT, None).unwrap_or_else(|e| panic!("{}: {e}", self.name));
        }
    }

    /// Over the files that fail: to its end, or as far as it comes, and then killed.
    async fn begin(&self) {
        let Ok(snapshot) = self.accounts.snapshot(&self.home.channel, &self.home.account) else {
            return self.platform.push(messages());
        };
        snapshot.unwrap_or_else(|| panic!("{}: signed out", self.name));
        let mut running = start_over(&self.home, &self.accounts, &self.platform, &self.agent);
        self.platform.push(messages());
        let handled = self.platform.wait("answers", |state| {
            let tried: HashSet<String> = tried(&state.sent);
            (tried.len() == MESSAGES).then_some(())
        });
        tokio::select! {
            () = handled => running.quiet_or(Duration::from_secs(120)).await,
            _ = running.finished() => return,
            () = sleep(Duration::from_secs(300)) => {}
        }
        running.kill().await;
    }

    /// Over files that work again.
    async fn go_on(&self) {
        let running = start(&self.home, &self.platform, &self.agent);
        let tried = self.platform.wait("answers", |state| {
            let tried: HashSet<String> = tried(&state.sent);
            (tried.len() == MESSAGES).then_some(tried)
        });
        let tried = tried.await;
        // They may all have been tried before this run has looked at what is left.
        until("contact", || running.health.snapshot().last_success_unix_seconds).await;
        running.quiet().await;
        running.stop().await.unwrap();
        let state = state_of(&self.home);
        assert!(state.claims().is_empty() && state.pending().is_empty(), "{}", self.name);
        for id in (0..MESSAGES).map(id) {
            assert!(tried.contains(&id) && state.is_seen(&id), "{}: {id}", self.name);
        }
        let prompts = self.agent.state(|state| state.prompts.clone());
        let different: HashSet<&String> = prompts.iter().collect();
        assert_eq!(different.len(), prompts.len(), "{}: a turn ran twice", self.name);
    }

    fn log_out(&self) {
        let TestHome { channel, account, accounts, .. } = &self.home;
        if self.accounts.logout(channel, account).is_err() {
            match accounts.logout(channel, account) {
                Ok(()) | Err(AccountsError::NotSignedIn(_)) => {}
                Err(error) => panic!("{}: {error}", self.name),
            }
        }
        assert_eq!(accounts.discover(channel).unwrap(), [], "{}", self.name);
        self.home.sign_in(BOT, None).unwrap();
        assert_eq!(state_of(&self.home).seen().count(), 0, "{}: not afresh", self.name);
    }
}

/// Ids of the messages that an answer was tried for.
fn tried(sent: &[(Outgoing, SendOutcome)]) -> HashSet<String> {
    let tried = sent.iter().filter(|(_, outcome)| !matches!(outcome, SendOutcome::Retry { .. }));
    tried.filter_map(|(message, _)| Some(message.reply.as_ref()?.message_id.clone())).collect()
}

/// Finds every message among the pending ones on disk before it goes out.
fn witness(home: &TestHome) -> Witness {
    let accounts = Arc::clone(&home.accounts);
    let (channel, account) = (home.channel.clone(), home.account.clone());
    Arc::new(move |message| {
        let state = match store::read(&accounts, &channel, &account) {
            Ok(state) => state,
            Err(error) if RestError::from(error).is_busy() => return false,
            Err(error) => panic!("{error}"),
        };
        let mut ids = state.pending().iter().flat_map(|pending| &pending.client_ids);
        assert!(ids.any(|id| *id == message.client_id), "sent without being pending");
        true
    })
}

async fn operations() -> usize {
    let life = Life::new(usize::MAX, Fault::Never);
    life.run().await;
    life.fs.operations()
}

const KINDS: [io::ErrorKind; 4] = [
    io::ErrorKind::StorageFull,
    io::ErrorKind::Other,
    io::ErrorKind::ReadOnlyFilesystem,
    io::ErrorKind::Interrupted,
];

/// All faults at each operation with `SCV_LONG_TESTS=1`; otherwise the kinds take turns.
#[tokio::test(start_paused = true)]
async fn at_every_operation_of_a_life_every_fault_loses_nothing() {
    let total = operations().await;
    assert!(total > 80, "the life has only {total} operations");
    let is_long = std::env::var_os("SCV_LONG_TESTS").is_some();
    for at in 0..total {
        let kinds = if is_long { &KINDS[..] } else { &KINDS[at % 4..][..1] };
        for kind in kinds {
            Life::new(at, Fault::Once(*kind)).run().await;
            Life::new(at, Fault::Always(*kind)).run().await;
        }
        if is_long || at % 2 == 0 {
            Life::new(at, Fault::Short).run().await;
        }
    }
}
