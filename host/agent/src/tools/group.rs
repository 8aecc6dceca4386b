//! A process group that is ended as a whole.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::{
    process::Child,
    time::{Instant, sleep},
};

use crate::limits::{GROUP_POLL_MS, TERM_GRACE_MS};

/// All processes of one command. Dropping it kills what is left.
#[derive(Debug)]
pub(super) struct Group {
    leader: Pid,
    ended: bool,
}

impl Group {
    /// The group of a child that was started as the leader of its own.
    pub(super) fn of(child: &Child) -> Option<Self> {
        let id = i32::try_from(child.id()?).ok()?;
        Some(Self { leader: Pid::from_raw(id)?, ended: false })
    }

    /// Asks the group to end, and kills it when it does not within two seconds. The leader is
    /// reaped on the way: until then it keeps the group in being.
    pub(super) async fn end(&mut self, leader: &mut Child) {
        self.signal(Signal::TERM);
        let deadline = Instant::now() + Duration::from_millis(TERM_GRACE_MS);
        let gone = async {
            let _ = leader.wait().await;
            self.until_gone().await;
        };
        if tokio::time::timeout_at(deadline, gone).await.is_err() {
            self.signal(Signal::KILL);
            let _ = leader.wait().await;
        }
        self.ended = true;
    }

    async fn until_gone(&self) {
        while test_kill_process_group(self.leader).is_ok() {
            sleep(Duration::from_millis(GROUP_POLL_MS)).await;
        }
    }

    /// An empty group is no error: it ended by itself.
    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.leader, signal);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.ended {
            self.signal(Signal::KILL);
        }
    }
}
