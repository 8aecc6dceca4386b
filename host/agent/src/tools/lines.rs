//! Output made of lines, bounded while it grows.

use std::ops::ControlFlow;

use scv_protocol::ToolError;

use super::{ToolOutcome, output::visible, place::FileFault, walk::Stop};
use crate::limits::NOTE_BYTES;

/// Lines for the model.
pub(super) struct Lines {
    text: String,
    count: usize,
    max_bytes: usize,
    max_count: usize,
}

impl Lines {
    /// `max_bytes` bounds the whole output, notes included.
    pub(super) const fn new(max_bytes: usize, max_count: usize) -> Self {
        let max_bytes = max_bytes.saturating_sub(NOTE_BYTES);
        Self { text: String::new(), count: 0, max_bytes, max_count }
    }

    /// Adds a line; false, and nothing added, when it does not fit.
    pub(super) fn push(&mut self, line: &str) -> bool {
        let start = self.text.len();
        let shown = |char| if char == '\t' { char } else { visible(char) };
        self.text.extend(line.chars().map(shown));
        self.text.push('\n');
        if self.count == self.max_count || self.text.len() > self.max_bytes {
            self.text.truncate(start);
            return false;
        }
        self.count += 1;
        true
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The outcome of a walk. `narrow` says how to get less; `left_out` what is missing although
    /// the walk came to its end.
    pub(super) fn finish(
        mut self,
        end: ControlFlow<Stop>,
        narrow: &str,
        left_out: Option<String>,
    ) -> Result<ToolOutcome, FileFault> {
        let note = match end {
            ControlFlow::Break(Stop::Cancelled) => {
                return Ok(ToolOutcome::failed(ToolError::Cancelled, "cancelled"));
            }
            ControlFlow::Break(Stop::Full) => Some(format!("there is more: {narrow}")),
            ControlFlow::Break(Stop::TimeOver) => Some(format!("the time is over: {narrow}")),
            ControlFlow::Continue(()) => left_out,
        };
        let truncated = end.is_break();
        if let Some(note) = note {
            self.text.push_str(&format!("[{note}]"));
        }
        Ok(ToolOutcome { output: self.text, truncated, error: None })
    }
}
