//! Token counts, which both formats have under their own names.

use scv_protocol::Usage;
use serde_json::Value;

/// What is missing stays missing; none when nothing is there.
pub(super) fn read(usage: &Value) -> Option<Usage> {
    let number = |names: [&str; 2]| names.iter().find_map(|name| usage.get(name)?.as_u64());
    let usage = Usage {
        input_tokens: number(["prompt_tokens", "input_tokens"]),
        output_tokens: number(["completion_tokens", "output_tokens"]),
    };
    (usage != Usage::default()).then_some(usage)
}
