//! No reported case is forgotten.

use anyhow::Result;
use scv_simulators::cases;

const TESTS: [&str; 6] = [
    include_str!("inbound.rs"),
    include_str!("kinds.rs"),
    include_str!("sending.rs"),
    include_str!("sign_in.rs"),
    include_str!("signed_out.rs"),
    include_str!("in_chat.rs"),
];

/// A case has a test when one plays it, or is called like it where only words describe it.
#[test]
fn every_case_that_is_asked_for_has_a_test() -> Result<()> {
    for case in cases::wechat()?.iter().filter(|case| !case.later) {
        let played = format!("\"{}\"", case.id);
        let called = format!("async fn {}()", case.id.replace('-', "_"));
        let is_tested = |text: &&str| text.contains(&played) || text.contains(&called);
        assert!(TESTS.iter().any(is_tested), "{}: {}", case.id, case.expect);
    }
    Ok(())
}
