//! ABI 1 is frozen: its source says what it said on that day.

use sha2::{Digest, Sha256};

const TODAY: &str = include_str!("../src/lib.rs");
const FROZEN: &str = include_str!("../frozen/1.0/abi/src/lib.rs");
/// Of the code, without comments and empty lines.
const SHA256: &str = "5385fa49c458adee63ec4b0853e410aed94dc9c910574cf003508a88e32570b3";

/// Comments may be mended; code may not.
fn code(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let code = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
    code.collect::<Vec<_>>().join("\n")
}

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn abi_1_is_frozen() {
    let found = sha256(&code(TODAY));
    assert_eq!(
        found, SHA256,
        "ABI 1 is frozen: every plugin that was ever built relies on this code. Undo the change; \
         what must evolve is a field of a document or an operation of `call`"
    );
}

#[test]
fn the_frozen_copy_is_that_code() {
    assert_eq!(code(FROZEN), code(TODAY));
}

#[test]
fn only_comments_and_blanks_may_change() {
    assert_eq!(code("// a\n\n  fn f() {}\n"), code("/// b\nfn f() {}"));
    assert_ne!(code("fn f() {}"), code("fn g() {}"));
}
