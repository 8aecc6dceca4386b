//! Tools as a model calls them.

use std::{fs, os::unix::fs::symlink, time::Instant};

use scv_protocol::{Risk, ServerEvent, ToolError};

use crate::client::{agent, connect, connect_as, kinds, outputs};

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

#[tokio::test]
async fn files_are_written_edited_listed_and_found() {
    let mut client = connect(&agent()).await;
    let prompt = r#"call write {"path":"src/a.txt","content":"one\ntwo\n"}
call edit {"path":"src/a.txt","old_text":"two","new_text":"three"}
call edit {"path":"src/a.txt","old_text":"nowhere","new_text":"x"}
call list {"path":"src"}
call search {"pattern":"three"}
call search {"pattern":"*.txt","target":"names"}
call write {"path":"../out","content":"x"}
call read {"path":"src/a.txt"}"#;
    let events = client.approved_turn(prompt).await;
    let done = outputs(&events);
    let success: Vec<bool> = done.iter().map(|(_, success)| *success).collect();
    assert_eq!(success, [true, true, false, true, true, true, false, true], "{done:?}");
    assert_eq!(done[3].0, "file\t10\ta.txt\n");
    assert_eq!(done[4].0, "src/a.txt:2:three\n");
    assert_eq!(done[5].0, "src/a.txt\n");
    assert_eq!(done[7].0, "one\nthree\n");
    let asked = kinds(&events).iter().filter(|kind| *kind == "approval.requested").count();
    assert_eq!(asked, 4, "whoever only reads need not ask");
    let outside = client.folder.path().parent().expect("a parent").join("out");
    assert!(!outside.exists());
}

#[tokio::test]
async fn a_command_runs_in_a_folder_of_the_workspace_and_nowhere_else() {
    let mut client = connect(&agent()).await;
    fs::create_dir(client.folder.path().join("sub")).expect("a folder");
    symlink("/", client.folder.path().join("root")).expect("a link");
    let prompt = r#"call bash {"command":"pwd","cwd":"sub"}
call bash {"command":"pwd","cwd":"root"}
call bash {"command":"pwd","cwd":".."}
call bash {"command":"pwd","timeout_seconds":99999}"#;
    let events = client.approved_turn(prompt).await;
    let done = outputs(&events);
    assert!(done[0].1 && done[0].0.ends_with("/sub\n"), "{done:?}");
    assert!(!done[1].1 && !done[2].1, "{done:?}");
    let asked = events.iter().filter_map(|event| match event {
        ServerEvent::ApprovalRequested { cwd, risk, .. } => Some((cwd.clone(), *risk)),
        _ => None,
    });
    let asked: Vec<_> = asked.collect();
    assert_eq!(asked.len(), 3, "a timeout above the ceiling is refused before anybody is asked");
    assert!(asked[0].0.ends_with("sub") && asked[0].1 == Risk::Process);
    let refused = events.iter().any(|event| {
        matches!(event, ServerEvent::ToolCompleted { error: Some(ToolError::InvalidArguments), .. })
    });
    assert!(refused);
}

#[tokio::test]
async fn version_3_is_told_what_a_command_does_and_version_2_is_not() {
    let prompt = "call bash {\"command\":\"for i in {1..12}; do echo line $i; sleep 0.1; done\"}";
    for version in [2, 3] {
        let mut client = connect_as(version, &agent(), |_| {}).await.expect("a session");
        let start = Instant::now();
        let events = client.approved_turn(prompt).await;
        let texts: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                ServerEvent::ToolProgress { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        if version == 2 {
            assert!(texts.is_empty(), "{texts:?}");
            continue;
        }
        let half_seconds = start.elapsed().as_millis() / 500;
        assert!(!texts.is_empty() && texts.len() as u128 <= half_seconds, "{texts:?}");
        assert!(texts[0].starts_with("line 1\nline 2"), "{texts:?}");
    }
}
