//! The processes of this machine, as /proc shows them at one moment.
//!
//! Other systems have no /proc: there a census is empty, and a call's processes are its group.

use std::{
    fs::{self, File},
    io::Read,
};

use super::{MARK_VARIABLE, kin::Process};
use crate::limits::{MAX_ENVIRON_BYTES, MAX_STAT_BYTES};

/// All processes that can be seen. A process that begins or ends meanwhile may be missing.
pub(super) fn take() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| process(name.parse().ok()?)).collect()
}

/// One process as it is now; none when it is gone.
pub(super) fn process(pid: i32) -> Option<Process> {
    let mut buffer = [0; MAX_STAT_BYTES];
    let length = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut buffer).ok()?;
    parse(pid, &buffer[..length])
}

/// The fields behind the name, which may hold anything, brackets included (proc(5), 2026-11).
fn parse(pid: i32, stat: &[u8]) -> Option<Process> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&stat[end + 1..]).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().take(20).collect();
    let threads: u32 = fields.get(17)?.parse().ok()?;
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        birth: fields.get(19)?.parse().ok()?,
        // A process whose first thread has ended looks like a zombie while its others run.
        is_zombie: matches!(*fields.first()?, "Z" | "X") && threads <= 1,
        mark: None,
    })
}

/// The call that a process was started for, as its environment says; none when that cannot be
/// read, or says nothing.
pub(super) fn mark_of(pid: i32) -> Option<String> {
    let file = File::open(format!("/proc/{pid}/environ")).ok()?;
    let mut environ = Vec::new();
    file.take(MAX_ENVIRON_BYTES).read_to_end(&mut environ).ok()?;
    let mut variables = environ.split(|byte| *byte == 0);
    let value = variables
        .find_map(|variable| variable.strip_prefix(MARK_VARIABLE.as_bytes())?.strip_prefix(b"="))?;
    String::from_utf8(value.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let stat = b"7 (a) Z 1) S 3 5 5 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 9 9\n";
        let expected =
            Process { pid: 7, parent: 3, group: 5, birth: 4711, is_zombie: false, mark: None };
        assert_eq!(parse(7, stat), Some(expected));
        assert_eq!(parse(7, b"7 (a) S 3 5"), None);
        assert_eq!(parse(7, b""), None);
    }

    #[test]
    fn a_process_whose_first_thread_ended_is_no_zombie() {
        for (threads, is_zombie) in [(1, true), (2, false)] {
            let stat = format!("7 (x) Z 3 5 5 0 -1 4 1 0 0 0 0 0 0 0 20 0 {threads} 0 4711\n");
            let process = parse(7, stat.as_bytes()).expect("a process");
            assert_eq!(process.is_zombie, is_zombie);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_there() {
        let me = i32::try_from(std::process::id()).expect("a pid");
        assert!(take().iter().any(|process| process.pid == me && !process.is_zombie));
    }
}
