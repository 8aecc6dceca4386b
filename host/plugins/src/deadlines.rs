//! How long each operation may take, the plugin's own time limits included.

use std::time::Duration;

use scv_plugin_api::limits;

/// One deadline for each operation; tests shorten them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// Loading the library in a child, once that runs.
    pub probe: Duration,
    /// `create`.
    pub create: Duration,
    /// `inspect`.
    pub inspect: Duration,
    /// `connect`.
    pub connect: Duration,
    /// Added to the manifest's `max_wait_ms` for `next_batch`.
    pub next_batch_margin: Duration,
    /// `send`.
    pub send: Duration,
    /// `call` on a plugin or a session.
    pub call: Duration,
    /// A call from the plugin to the host, prompts aside.
    pub host_call: Duration,
    /// Added to the greatest `expires_ms` that a sign-in has shown.
    pub login_margin: Duration,
    /// A sign-in never lasts longer.
    pub login_max: Duration,
    /// Added to the grace of `close` and `shutdown`.
    pub close_margin: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            probe: Duration::from_millis(crate::limits::PROBE_MS),
            create: Duration::from_millis(limits::CREATE_DEADLINE_MS),
            inspect: Duration::from_millis(limits::INSPECT_DEADLINE_MS),
            connect: Duration::from_millis(limits::CONNECT_DEADLINE_MS),
            next_batch_margin: Duration::from_millis(limits::NEXT_BATCH_MARGIN_MS),
            send: Duration::from_millis(limits::SEND_DEADLINE_MS),
            call: Duration::from_millis(limits::SEND_DEADLINE_MS),
            host_call: Duration::from_millis(limits::HOST_CALL_DEADLINE_MS),
            login_margin: Duration::from_millis(limits::LOGIN_MARGIN_MS),
            login_max: Duration::from_millis(limits::LOGIN_MAX_MS),
            close_margin: Duration::from_millis(crate::limits::CLOSE_MARGIN_MS),
        }
    }
}
