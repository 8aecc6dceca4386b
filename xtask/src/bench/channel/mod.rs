//! What messages of a chat cost, and what accounts cost while nobody writes.

mod cpu;
mod idle;
mod restart;
mod senders;

pub(super) use cpu::per_message as cpu_per_message;
pub(super) use idle::switches as idle_switches;
pub(super) use restart::to_polling as restart_to_polling;
pub(super) use senders::on_a_slow_disk as senders_on_a_slow_disk;

use std::time::Duration;

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(60);
