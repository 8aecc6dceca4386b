//! Whether a group is one user's own, as distributions with umask 002 make it.

use std::{fs::File, io::Read};

use crate::limits::MAX_ACCOUNTS_FILE_BYTES;

/// Whether the group has no member but this user, going by the local account files. Groups
/// that only a directory service knows count as shared.
pub(crate) fn is_private(gid: u32, uid: u32) -> bool {
    let (Some(groups), Some(users)) = (read("/etc/group"), read("/etc/passwd")) else {
        return false;
    };
    no_members(&groups, gid) && no_other_user(&users, gid, uid)
}

fn read(path: &str) -> Option<String> {
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.take(MAX_ACCOUNTS_FILE_BYTES + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= MAX_ACCOUNTS_FILE_BYTES).then_some(text)
}

/// `name:password:gid:member,member`
fn no_members(groups: &str, gid: u32) -> bool {
    let gid = gid.to_string();
    let mut named = groups
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .filter(|fields| fields.get(2) == Some(&gid.as_str()))
        .peekable();
    named.peek().is_some() && named.all(|fields| fields.get(3).is_none_or(|list| list.is_empty()))
}

/// `name:password:uid:gid:…`
fn no_other_user(users: &str, gid: u32, uid: u32) -> bool {
    let (gid, uid) = (gid.to_string(), uid.to_string());
    users
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .filter(|fields| fields.get(3) == Some(&gid.as_str()))
        .all(|fields| fields.get(2) == Some(&uid.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: &str = "root:x:0:\nann:x:1000:\nstaff:x:50:ann,bob\nbob:x:1001:ann\n";
    const USERS: &str = "ann:x:1000:1000::/home/ann:/bin/sh\nbob:x:1001:1001:::\neve:x:7:1001:::\n";

    #[test]
    fn a_group_with_members_is_shared() {
        assert!(no_members(GROUPS, 1000));
        assert!(!no_members(GROUPS, 50));
        assert!(!no_members(GROUPS, 1001));
    }

    #[test]
    fn an_unknown_group_is_shared() {
        assert!(!no_members(GROUPS, 4711));
        assert!(!no_members("", 1000));
    }

    #[test]
    fn a_group_that_another_user_logs_in_with_is_shared() {
        assert!(no_other_user(USERS, 1000, 1000));
        assert!(!no_other_user(USERS, 1001, 1001));
    }
}
