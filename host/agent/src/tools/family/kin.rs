//! Which processes belong to a call. Pure.
//!
//! This process is the reaper of all orphans below it, so each process that a call began is below
//! it as long as it lives: below the call's shell, or below an orphan that this process adopted.
//! An orphan shows its call by its process group, or by the mark in its environment. One that has
//! shed both is the call's if nobody else can have begun it.

use std::collections::HashMap;

/// One process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    /// In ticks since the machine started; with the pid it is unique.
    pub(super) birth: u64,
    /// It has ended and waits for its parent to look.
    pub(super) is_zombie: bool,
    /// The call that its environment names. Looked up for orphans only.
    pub(super) mark: Option<String>,
}

/// A call that is running, or being ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Running {
    /// The pid of its shell, which is the id of its process group, too.
    pub(super) leader: i32,
    /// When the shell began.
    pub(super) birth: u64,
    pub(super) mark: String,
}

/// This process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Me {
    pub(super) pid: i32,
    pub(super) group: i32,
}

/// The processes of `call`, as indices. `others` are the calls that run beside it.
pub(super) fn kin(census: &[Process], me: Me, call: &Running, others: &[Running]) -> Vec<usize> {
    descendants(census, me.pid, |child| is_root(child, me, call, others))
}

/// All processes below this one.
pub(super) fn below(census: &[Process], pid: i32) -> Vec<usize> {
    descendants(census, pid, |_| true)
}

/// Some children of a process, and all that is below them.
fn descendants(census: &[Process], pid: i32, is_root: impl Fn(&Process) -> bool) -> Vec<usize> {
    let mut children: HashMap<i32, Vec<usize>> = HashMap::new();
    for (index, process) in census.iter().enumerate() {
        children.entry(process.parent).or_default().push(index);
    }
    let own = children.remove(&pid).unwrap_or_default();
    let mut found: Vec<usize> = own.into_iter().filter(|index| is_root(&census[*index])).collect();
    let mut next = 0;
    while let Some(index) = found.get(next) {
        found.extend(children.remove(&census[*index].pid).unwrap_or_default());
        next += 1;
    }
    found
}

/// Whether a child of this process belongs to the call.
fn is_root(child: &Process, me: Me, call: &Running, others: &[Running]) -> bool {
    if [child.pid, child.group].contains(&call.leader) {
        return true;
    }
    if others.iter().any(|other| [child.pid, child.group].contains(&other.leader)) {
        return false;
    }
    if let Some(mark) = &child.mark {
        if *mark == call.mark {
            return true;
        }
        if others.iter().any(|other| other.mark == *mark) {
            return false;
        }
    }
    // What this process starts for itself stays in its group; nothing that a call began is in it.
    child.group != me.group
        && child.birth >= call.birth
        && !others.iter().any(|other| other.birth <= child.birth)
}

/// Whether an adopted child is worth a look at its environment.
pub(super) fn needs_mark(process: &Process, me: Me, call: &Running) -> bool {
    process.parent == me.pid
        && !process.is_zombie
        && process.group != me.group
        && ![process.pid, process.group].contains(&call.leader)
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    const ME: Me = Me { pid: 10, group: 10 };

    fn call(leader: i32, birth: u64) -> Running {
        Running { leader, birth, mark: format!("call-{leader}") }
    }

    fn process(pid: i32, parent: i32, group: i32, birth: u64) -> Process {
        Process { pid, parent, group, birth, is_zombie: false, mark: None }
    }

    fn marked(process: Process, mark: &str) -> Process {
        Process { mark: Some(mark.to_owned()), ..process }
    }

    fn pids(census: &[Process], call: &Running, others: &[Running]) -> Vec<i32> {
        let mut pids: Vec<i32> =
            kin(census, ME, call, others).into_iter().map(|index| census[index].pid).collect();
        pids.sort_unstable();
        pids
    }

    #[test]
    fn all_below_the_shell_and_all_of_its_group() {
        let census = [
            process(1, 0, 1, 0),
            process(10, 1, 10, 5),
            process(20, 10, 20, 100),
            process(22, 21, 22, 101),
            process(21, 20, 20, 101),
            process(23, 10, 20, 102),
            process(30, 1, 30, 100),
        ];
        assert_eq!(pids(&census, &call(20, 100), &[]), [20, 21, 22, 23]);
        let of_keeper = below(&census, 20).into_iter().map(|index| census[index].pid);
        assert_eq!(of_keeper.collect::<Vec<_>>(), [21, 22]);
    }

    #[test]
    fn an_orphan_is_known_by_its_mark() {
        let census = [
            marked(process(40, 10, 40, 130), "call-20"),
            process(41, 40, 41, 131),
            marked(process(50, 10, 50, 130), "call-30"),
            process(51, 50, 50, 131),
        ];
        let (first, second) = (call(20, 100), call(30, 110));
        assert_eq!(pids(&census, &first, slice::from_ref(&second)), [40, 41]);
        assert_eq!(pids(&census, &second, &[first]), [50, 51]);
    }

    #[test]
    fn an_orphan_without_a_mark_is_left_to_whoever_may_have_begun_it() {
        let census = [process(40, 10, 40, 130)];
        let (first, second) = (call(20, 100), call(30, 110));
        assert_eq!(
            pids(&census, &second, slice::from_ref(&first)),
            [0; 0],
            "the first may have begun it"
        );
        assert_eq!(pids(&census, &first, &[call(60, 140)]), [40], "born before the other call");
        assert_eq!(pids(&census, &second, &[]), [40], "the last one out ends it");
        assert_eq!(pids(&census, &call(70, 131), &[]), [0; 0], "born before the call");
    }

    #[test]
    fn other_children_of_this_process_are_left_alone() {
        let census = [
            process(11, 10, 10, 200),
            process(30, 10, 30, 200),
            process(31, 10, 30, 200),
            process(32, 30, 32, 200),
        ];
        assert_eq!(pids(&census, &call(20, 100), &[call(30, 200)]), [0; 0]);
    }

    #[test]
    fn a_mark_of_a_call_that_ended_protects_nobody() {
        let census = [marked(process(40, 10, 40, 130), "call-of-a-daemon-inside")];
        assert_eq!(pids(&census, &call(20, 100), &[]), [40]);
    }
}
