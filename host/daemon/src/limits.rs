//! Every limit of this room. Those of the wire stand in `scv_protocol::limits`.

/// The longest path a Unix socket can have on Linux: `sun_path` without its NUL (Linux 6, 2026-11-30).
pub const MAX_SOCKET_PATH_BYTES: usize = 107;
/// How often saved accounts are compared with what runs.
pub const RECONCILE_MS: u64 = 2_000;
/// A run with contact that lasted this long forgets earlier failures.
pub const HEALTHY_RUN_MS: u64 = 60_000;
/// How long an account may take to stop before its task is aborted.
pub const ACCOUNT_STOP_MS: u64 = 10_000;
/// How long the plugins may take to shut down, all together.
pub const PLUGIN_SHUTDOWN_MS: u64 = 3_000;
/// How long a command waits for plugins that are still being looked for.
pub const PLUGINS_WAIT_MS: u64 = 10_000;
/// How long connections may take to end once the daemon stops: their own grace, and a margin.
pub const CONNECTIONS_STOP_MS: u64 = 8_000;
/// Clients that may be connected at once.
pub const MAX_CONNECTIONS_COUNT: usize = 256;
/// `daemon.control` commands of one connection that may wait for the one under way.
pub const MAX_WAITING_COMMANDS_COUNT: usize = 16;
/// How long a client may take to initialize its connection.
pub const INITIALIZE_MS: u64 = 10_000;
/// How long after one warning about too many clients the next one may come.
pub const FULL_WARNING_SECONDS: u64 = 60;
/// How often the socket's file is looked for.
pub const SOCKET_CHECK_MS: u64 = 2_000;
/// How long to wait for the id of the process that has just taken the home.
pub const OWNER_WAIT_MS: u64 = 200;
/// How often it is read meanwhile.
pub const OWNER_LOOK_MS: u64 = 10;
/// How long after one look at the plugins a refusal that may pass makes for the next one.
pub const PLUGINS_RETRY_MS: u64 = 30_000;
/// How long accepting pauses after an error, which is usually a lack of file descriptors.
pub const ACCEPT_PAUSE_MS: u64 = 100;
/// What one read takes from a client.
pub const READ_BUFFER_BYTES: usize = 8 * 1024;
/// The pipe of an in-process connection.
pub const IN_PROCESS_PIPE_BYTES: usize = 64 * 1024;
/// A configuration file.
pub const MAX_CONFIG_BYTES: u64 = 1024 * 1024;
/// The smallest limit for a client's frame: a short prompt must fit.
pub const MIN_CLIENT_FRAME_BYTES: usize = 4096;
/// `tools.agent_timeout_seconds` when it is not set.
pub const AGENT_TIMEOUT_SECONDS: u64 = 3600;
/// Added to the tools' ceiling for a turn of an account's owner.
pub const OWNER_TURN_MARGIN_SECONDS: u64 = 300;
/// A turn of an account's owner may last at least this long.
pub const OWNER_TURN_MIN_SECONDS: u64 = 1_800;
/// Log lines that are kept in memory.
pub const LOG_LINES_COUNT: usize = 5_000;
/// What they may hold together.
pub const LOG_RING_BYTES: usize = 4 * 1024 * 1024;
/// A log line in memory; the rest of a longer one is only on stderr.
pub const LOG_LINE_BYTES: usize = 4_096;
/// Log lines in one answer.
pub const LOG_PAGE_LINES_COUNT: usize = 1_000;
/// What they may hold together; JSON makes more of it, and still less than a frame.
pub const LOG_PAGE_BYTES: usize = 512 * 1024;

const _: () = assert!(CONNECTIONS_STOP_MS > 2 * scv_protocol::limits::CLEANUP_GRACE_MS);
const _: () = assert!(PLUGINS_WAIT_MS < scv_protocol::limits::CONTROL_TIMEOUT_MS);
