//! The sign-ins that run, and how long each may still take.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use scv_plugin_api::{
    host::LoginEvents,
    wire::{Fault, LoginEvent, LoginEventBody, PromptAnswer},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout},
};

use crate::Deadlines;

/// The sign-ins of one plugin.
pub(super) struct Logins {
    live: Mutex<HashMap<String, Live>>,
    margin: Duration,
    longest: Duration,
}

#[derive(Clone)]
struct Live {
    ui: Arc<dyn LoginEvents>,
    clock: Arc<Clock>,
}

impl Logins {
    pub(super) fn new(deadlines: &Deadlines) -> Self {
        Self {
            live: Mutex::default(),
            margin: deadlines.login_margin,
            longest: deadlines.login_max,
        }
    }

    /// Events for this id go to `ui` until what is returned is dropped.
    pub(super) fn begin(self: &Arc<Self>, id: &str, ui: Arc<dyn LoginEvents>) -> Login {
        let clock = Arc::new(Clock::start(self.margin, self.longest));
        let live = Live { ui, clock: clock.clone() };
        self.live().insert(id.to_owned(), live);
        Login { logins: self.clone(), id: id.to_owned(), clock }
    }

    /// Shows an event. A prompt may take as long as the sign-in, anything else has `limit`.
    pub(super) async fn show(
        &self,
        event: LoginEvent,
        limit: Duration,
    ) -> Result<PromptAnswer, Fault> {
        let live = self.live().get(&event.login_id).cloned();
        let Some(Live { ui, clock }) = live else {
            return Err(Fault::cancelled("this sign-in is over; start it again"));
        };
        if matches!(event.body, LoginEventBody::Prompt { .. }) {
            let _thinking = clock.suspend();
            return Ok(ui.event(event.body).await);
        }
        clock.extend(expiry(&event.body));
        let shown = timeout(limit, ui.event(event.body)).await;
        shown.map_err(|_| Fault::other("the host did not show it in time; start the sign-in again"))
    }

    fn live(&self) -> MutexGuard<'_, HashMap<String, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn expiry(event: &LoginEventBody) -> Duration {
    match event {
        LoginEventBody::Qr { expires_ms, .. } => Duration::from_millis(expires_ms.unwrap_or(0)),
        _ => Duration::ZERO,
    }
}

/// A running sign-in; dropping it makes later events answer `cancelled`.
pub(super) struct Login {
    logins: Arc<Logins>,
    id: String,
    clock: Arc<Clock>,
}

impl Login {
    /// Waits until its time is over; events give it more.
    pub(super) async fn too_late(&self) {
        let mut deadline = self.clock.deadline.subscribe();
        loop {
            let until = *deadline.borrow_and_update();
            tokio::select! {
                () = sleep_until(until) => return,
                Ok(()) = deadline.changed() => {}
            }
        }
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        self.logins.live().remove(&self.id);
    }
}

/// When a sign-in is too late: the margin after the last thing shown has expired.
struct Clock {
    deadline: watch::Sender<Instant>,
    last: Instant,
    margin: Duration,
}

impl Clock {
    fn start(margin: Duration, longest: Duration) -> Self {
        let now = Instant::now();
        let last = now + longest;
        Self { deadline: watch::Sender::new(last.min(now + margin)), last, margin }
    }

    fn extend(&self, expires: Duration) {
        let wanted = Instant::now().checked_add(expires.saturating_add(self.margin));
        let bounded = wanted.map_or(self.last, |wanted| wanted.min(self.last));
        self.deadline.send_modify(|deadline| *deadline = bounded.max(*deadline));
    }

    /// A person is thinking: until the guard is dropped only the longest duration counts.
    fn suspend(&self) -> Suspended<'_> {
        Suspended { before: self.deadline.send_replace(self.last), clock: self }
    }
}

struct Suspended<'a> {
    clock: &'a Clock,
    before: Instant,
}

impl Drop for Suspended<'_> {
    fn drop(&mut self) {
        self.clock.deadline.send_replace(self.before);
        self.clock.extend(Duration::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use scv_plugin_api::{
        host::BoxFuture,
        wire::{FaultKind, PromptKind},
    };

    use super::*;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn left(clock: &Clock) -> Duration {
        clock.deadline.borrow().duration_since(Instant::now())
    }

    /// Never answers a prompt.
    struct Silent;

    impl LoginEvents for Silent {
        fn event(&self, event: LoginEventBody) -> BoxFuture<'_, PromptAnswer> {
            Box::pin(async move {
                if matches!(event, LoginEventBody::Prompt { .. }) {
                    std::future::pending::<()>().await;
                }
                PromptAnswer::default()
            })
        }
    }

    fn progress(login_id: &str) -> LoginEvent {
        let text = String::new();
        LoginEvent { login_id: login_id.into(), body: LoginEventBody::Progress { text } }
    }

    #[tokio::test(start_paused = true)]
    async fn events_reach_live_sign_ins_only() {
        let logins = Arc::new(Logins::new(&Deadlines::default()));
        let login = logins.begin("a", Arc::new(Silent));
        logins.show(progress("a"), seconds(1)).await.unwrap();
        let other = logins.show(progress("b"), seconds(1)).await.unwrap_err();
        assert_eq!(other.kind, FaultKind::Cancelled);
        drop(login);
        let late = logins.show(progress("a"), seconds(1)).await.unwrap_err();
        assert_eq!(late.kind, FaultKind::Cancelled);
    }

    #[tokio::test(start_paused = true)]
    async fn a_sign_in_is_too_late_after_its_margin_unless_a_person_is_asked() {
        let logins = Arc::new(Logins::new(&Deadlines::default()));
        let started = Instant::now();
        logins.begin("a", Arc::new(Silent)).too_late().await;
        assert_eq!(started.elapsed(), seconds(60));

        let started = Instant::now();
        let login = logins.begin("b", Arc::new(Silent));
        let mut question = progress("b");
        question.body = LoginEventBody::Prompt {
            name: "n".into(),
            text: "t".into(),
            secret: false,
            kind: PromptKind::Text,
            choices: Vec::new(),
        };
        tokio::select! {
            _ = logins.show(question, seconds(1)) => panic!("nobody answers"),
            () = login.too_late() => {}
        }
        assert_eq!(started.elapsed(), seconds(65 * 60));
    }

    #[tokio::test(start_paused = true)]
    async fn each_code_gives_its_own_time_and_the_margin() {
        let clock = Clock::start(seconds(60), seconds(3900));
        assert_eq!(left(&clock), seconds(60));
        clock.extend(seconds(300));
        assert_eq!(left(&clock), seconds(360));
        tokio::time::advance(seconds(300)).await;
        clock.extend(seconds(300));
        assert_eq!(left(&clock), seconds(360));
        clock.extend(seconds(0));
        assert_eq!(left(&clock), seconds(360));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_gives_more_than_the_longest() {
        let clock = Clock::start(seconds(60), seconds(3900));
        clock.extend(Duration::MAX);
        assert_eq!(left(&clock), seconds(3900));
    }

    #[tokio::test(start_paused = true)]
    async fn a_prompt_stops_the_clock() {
        let clock = Clock::start(seconds(60), seconds(3900));
        let thinking = clock.suspend();
        assert_eq!(left(&clock), seconds(3900));
        tokio::time::advance(seconds(1000)).await;
        drop(thinking);
        assert_eq!(left(&clock), seconds(60));
    }
}
