//! Every reported case, in groups that run beside each other.

use anyhow::{Result, ensure};
use futures_util::{StreamExt, stream};

use super::{case, checks, player};

/// Cases of one group that are played at once: most of their time is waiting.
const AT_ONCE: usize = 4;

/// The `part`-th of `parts` groups of the cases of one kind.
async fn group(kind: &str, part: usize, parts: usize) -> Result<()> {
    let cases = case::all()?.into_iter().filter(|case| case.kind == kind && !case.later);
    let mine = cases.enumerate().filter(|(at, _)| at % parts == part).map(|(_, case)| case);
    let played = stream::iter(mine).map(async |case| {
        let problems = match judge(&case).await {
            Ok(problems) => problems,
            Err(error) => vec![format!("{error:#}")],
        };
        let problems = problems.iter().map(|problem| format!("  {problem}\n")).collect::<String>();
        if !problems.is_empty() {
            eprintln!("{} (right: {})\n{problems}", case.id, case.right);
        }
        (!problems.is_empty() && !case.soft).then_some(case.id)
    });
    let failed: Vec<_> = played.buffer_unordered(AT_ONCE).filter_map(async |id| id).collect().await;
    ensure!(failed.is_empty(), "not as they should be: {failed:?}");
    Ok(())
}

async fn judge(case: &case::Case) -> Result<Vec<String>> {
    let seen = player::play(case).await?;
    Ok(checks::problems(&case.expect()?, &seen))
}

#[tokio::test]
async fn inbound_first() -> Result<()> {
    group("inbound", 0, 4).await
}

#[tokio::test]
async fn inbound_second() -> Result<()> {
    group("inbound", 1, 4).await
}

#[tokio::test]
async fn inbound_third() -> Result<()> {
    group("inbound", 2, 4).await
}

#[tokio::test]
async fn inbound_fourth() -> Result<()> {
    group("inbound", 3, 4).await
}

#[tokio::test]
async fn rest() -> Result<()> {
    group("rest", 0, 1).await
}

#[tokio::test]
async fn connect() -> Result<()> {
    group("connect", 0, 1).await
}

#[tokio::test]
async fn catch_up() -> Result<()> {
    group("catchup", 0, 1).await
}

#[tokio::test]
async fn login() -> Result<()> {
    group("login", 0, 1).await
}

#[test]
fn every_kind_has_its_group() -> Result<()> {
    for case in case::all()? {
        let kinds = ["inbound", "rest", "connect", "catchup", "login"];
        assert!(kinds.contains(&case.kind.as_str()), "{} is {}", case.id, case.kind);
    }
    Ok(())
}
