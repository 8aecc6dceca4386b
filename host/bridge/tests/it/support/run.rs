//! A running account.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use scv_bridge::{
    AccountContext, AccountName, Accounts, Clock, Desk, Health, RunError, Snapshot, Ticket,
    run_account, store::State,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{agent::Agent, home::TestHome, in_time, platform::Platform, until};

pub(crate) const OWNER_LIMIT: Duration = Duration::from_secs(3_600);

/// A clock that tells what it is told.
#[derive(Default)]
pub(crate) struct TestClock(AtomicU64);

impl TestClock {
    pub(crate) fn at(seconds: u64) -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(seconds * 1_000)))
    }
}

impl Clock for TestClock {
    fn unix_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

pub(crate) struct Running {
    pub(crate) health: Arc<Health>,
    pub(crate) desk: Arc<Desk>,
    /// Kept between runs, as a supervisor does.
    _ticket: Ticket,
    stop: CancellationToken,
    task: JoinHandle<Result<(), RunError>>,
}

/// Starts the account of a home with a platform and an agent.
pub(crate) fn start(home: &TestHome, platform: &Platform, agent: &Agent) -> Running {
    start_over(home, &home.accounts, platform, agent)
}

pub(crate) fn start_over(
    home: &TestHome,
    accounts: &Arc<Accounts>,
    platform: &Platform,
    agent: &Agent,
) -> Running {
    start_as(home, accounts, &home.account, platform, agent)
}

pub(crate) fn start_as(
    home: &TestHome,
    accounts: &Arc<Accounts>,
    account: &AccountName,
    platform: &Platform,
    agent: &Agent,
) -> Running {
    let snapshot = accounts.snapshot(&home.channel, account).unwrap().unwrap();
    start_with(home, accounts, account, snapshot, platform, agent)
}

/// Starts an account with what was read of it before.
pub(crate) fn start_with(
    home: &TestHome,
    accounts: &Arc<Accounts>,
    account: &AccountName,
    snapshot: Snapshot,
    platform: &Platform,
    agent: &Agent,
) -> Running {
    let ticket = accounts.ticket(home.channel.as_str(), account);
    let desk = Arc::<Desk>::default();
    let context = AccountContext {
        channel: platform.channel(),
        account: account.clone(),
        transport: Arc::new(platform.clone()),
        dialer: Arc::new(agent.clone()),
        accounts: Arc::clone(accounts),
        ticket: ticket.clone(),
        desk: Arc::clone(&desk),
        snapshot,
        workspace: PathBuf::from("/"),
        owner_turn_limit: OWNER_LIMIT,
        clock: TestClock::at(1_790_000_000),
    };
    let (health, stop) = (Arc::new(Health::default()), CancellationToken::new());
    let task = tokio::spawn(run_account(context, Arc::clone(&health), stop.clone()));
    Running { health, desk, _ticket: ticket, stop, task }
}

impl Running {
    /// Waits until every reply is accepted.
    pub(crate) async fn quiet(&self) {
        let is_quiet = || {
            let report = self.health.snapshot();
            (report.pending + report.running + report.waiting == 0).then_some(())
        };
        until("quiet", is_quiet).await;
    }

    /// The same, but not for longer than this.
    pub(crate) async fn quiet_or(&self, limit: Duration) {
        let _ = tokio::time::timeout(limit, self.quiet()).await;
    }

    /// Stops it, and answers how it ended.
    pub(crate) async fn stop(self) -> Result<(), RunError> {
        self.stop.cancel();
        self.ended().await
    }

    /// Waits until it ends by itself; it may be asked again.
    pub(crate) async fn finished(&mut self) -> Result<(), RunError> {
        (&mut self.task).await.unwrap()
    }

    /// Waits until it ends by itself.
    pub(crate) async fn ended(self) -> Result<(), RunError> {
        in_time("the run's end", self.task).await.unwrap()
    }

    /// Ends it as a crash would: nothing of it runs on.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

/// What is on disk after a run.
pub(crate) fn state_of(home: &TestHome) -> State {
    home.open().unwrap().state
}
