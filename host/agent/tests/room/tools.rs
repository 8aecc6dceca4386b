//! Tools as a model calls them.

use std::{fs, os::unix::fs::symlink};

use crate::client::{agent, connect, kinds, outputs};

#[tokio::test]
async fn read_stays_inside_and_asks_for_secrets() {
    let mut client = connect(&agent()).await;
    let folder = client.folder.path();
    fs::write(folder.join("a.txt"), "inside").expect("a file");
    fs::write(folder.join(".env"), "KEY=1").expect("a file");
    symlink("/etc/hostname", folder.join("out")).expect("a link");
    let events = client.turn("call read {\"path\":\"a.txt\"}\ncall read {\"path\":\"out\"}").await;
    let done = outputs(&events);
    assert_eq!(done[0], ("inside".to_owned(), true));
    assert!(!done[1].1 && done[1].0.contains("workspace"), "{done:?}");
    client.start("call read {\"path\":\".env\"}").await;
    let events = client.until("approval.requested").await;
    assert!(!kinds(&events).contains(&"tool.started".to_owned()));
}

#[tokio::test]
async fn a_running_command_is_cancelled_with_its_turn() {
    let mut client = connect(&agent()).await;
    client.start("call bash {\"command\":\"echo $$ > pid; sleep 300\"}").await;
    let events = client.until("approval.requested").await;
    let turn = crate::client::turn_of(&events[0]);
    client.resolve(crate::client::approval_of(events.last().expect("it")), true).await;
    client.until("tool.started").await;
    client.cancel(turn).await;
    let events = client.until_end().await;
    assert_eq!(kinds(&events), ["tool.completed", "turn.cancelled"]);
}
