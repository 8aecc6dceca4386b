//! `scv plugins test`: what every plugin must do, tried on a built file in a process of its own.

use std::{
    ffi::OsString,
    io::{self, Write},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{ExitCode, ExitStatus, Stdio},
};

use anyhow::{Context as _, bail};
use scv_plugin_api::{
    testkit::{CaseReport, Verdict, check_file},
    wire::CreateConfig,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::process::Command;

use super::args::TestArgs;
use crate::{exit::Exit, say, terminal::harmless};

/// The first word of the child's command line.
const CHILD: &str = "__plugin-test";

/// One case, from the child to the parent and to whoever asked for JSON.
#[derive(Serialize, Deserialize)]
struct Case {
    name: String,
    verdict: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Runs the cases in a child and shows them.
pub(super) async fn run(args: TestArgs) -> anyhow::Result<Exit> {
    if !args.path.is_file() {
        bail!("{} is no file; name the built library", args.path.display());
    }
    let program = std::env::current_exe().context("this program cannot be found any more")?;
    let output = Command::new(program)
        .arg(CHILD)
        .arg(&args.path)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .output()
        .await
        .context("no process could be started")?;
    let mut cases: Vec<Case> = output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    cases.extend(death(output.status));
    let good = cases.iter().all(|case| case.verdict != "failed");
    if args.json.json {
        say(&json!({ "ok": good, "cases": cases }).to_string());
    } else {
        cases.iter().for_each(|case| say(&harmless(&line(case))));
    }
    Ok(if good { Exit::Done } else { Exit::Failed })
}

/// A process that did not end by itself is a case of its own.
fn death(status: ExitStatus) -> Option<Case> {
    let reason = match (status.signal(), status.code()) {
        (Some(signal), _) => format!("the process was ended by signal {signal}"),
        (None, Some(0)) => return None,
        (None, code) => format!("the process ended with status {}", code.unwrap_or(-1)),
    };
    Some(Case { name: "process".into(), verdict: "failed".into(), reason: Some(reason) })
}

fn line(case: &Case) -> String {
    let mark = match case.verdict.as_str() {
        "ok" => "ok  ",
        "failed" => "FAIL",
        _ => "--  ",
    };
    match &case.reason {
        Some(reason) => format!("{mark}  {}: {reason}", case.name),
        None => format!("{mark}  {}", case.name),
    }
}

/// The child, when this process is one: the file's code runs here, outside of any runtime.
pub(crate) fn child(words: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut words = words.into_iter().skip(1);
    if words.next()? != CHILD {
        return None;
    }
    let report = check_file(Path::new(&words.next()?), &CreateConfig::default());
    let mut stdout = io::stdout().lock();
    for case in report.cases {
        // The parent is gone when it cannot be told; then nobody asks for the status either.
        let _ = serde_json::to_writer(&mut stdout, &Case::from(case));
        let _ = stdout.write_all(b"\n");
    }
    let _ = stdout.flush();
    Some(ExitCode::SUCCESS)
}

impl From<CaseReport> for Case {
    fn from(case: CaseReport) -> Self {
        let (verdict, reason) = match case.verdict {
            Verdict::Passed => ("ok", None),
            Verdict::Failed(reason) => ("failed", Some(reason)),
            Verdict::Excluded(reason) => ("excluded", Some(reason)),
            _ => ("excluded", Some("this scv does not know how it ended".into())),
        };
        Self { name: case.name, verdict: verdict.into(), reason }
    }
}
