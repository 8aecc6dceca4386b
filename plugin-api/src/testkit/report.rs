//! What came out of each case.

use std::{
    fmt,
    io::{self, Write},
};

use super::plugin::Trouble;

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// As it must.
    Passed,
    /// Otherwise; what was wrong.
    Failed(String),
    /// It does not apply; why.
    Excluded(String),
}

/// One case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseReport {
    /// Its name.
    pub name: String,
    /// How it ended.
    pub verdict: Verdict,
}

/// All cases, in the order in which they ran.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The cases.
    pub cases: Vec<CaseReport>,
}

impl Report {
    pub(super) fn failed(name: &str, reason: String) -> Self {
        let mut report = Self::default();
        report.add(name, Err(Ended::Failed(reason)));
        report
    }

    pub(super) fn add(&mut self, name: &str, case: Case) {
        let verdict = match case {
            Ok(()) => Verdict::Passed,
            Err(Ended::Failed(reason)) => Verdict::Failed(reason),
            Err(Ended::Excluded(reason)) => Verdict::Excluded(reason),
        };
        self.cases.push(CaseReport { name: name.to_owned(), verdict });
    }

    /// Adds a case and prints it, past the capture of the test harness, so that a good run
    /// shows its exclusions too.
    pub(super) fn add_printed(&mut self, name: &str, case: Case) {
        self.add(name, case);
        if let Some(case) = self.cases.last() {
            // Where nobody reads stderr the verdict still counts.
            let _ = writeln!(io::stderr(), "{case}");
        }
    }

    /// Whether no case failed.
    #[must_use]
    pub fn passed(&self) -> bool {
        !self.cases.iter().any(|case| matches!(case.verdict, Verdict::Failed(_)))
    }

    pub(super) fn into_result(self) -> Result<(), Self> {
        if self.passed() { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for CaseReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.verdict {
            Verdict::Passed => write!(f, "ok      {name}"),
            Verdict::Failed(reason) => write!(f, "FAILED  {name}: {reason}"),
            Verdict::Excluded(reason) => write!(f, "--      {name}: {reason}"),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cases.iter().try_for_each(|case| writeln!(f, "{case}"))
    }
}

/// A test that returns it shows what failed, one line each.
impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed = self.cases.iter().filter(|case| matches!(case.verdict, Verdict::Failed(_)));
        write!(f, "these cases failed:")?;
        failed.into_iter().try_for_each(|case| write!(f, "\n{case}"))
    }
}

/// How a case ended, while it runs.
pub(super) type Case = Result<(), Ended>;

/// Why a case did not pass.
#[derive(Debug)]
pub(super) enum Ended {
    Failed(String),
    Excluded(String),
}

impl From<Trouble> for Ended {
    fn from(trouble: Trouble) -> Self {
        Self::Failed(trouble.to_string())
    }
}

/// The case does not apply.
pub(super) fn excluded(reason: &str) -> Case {
    Err(Ended::Excluded(reason.to_owned()))
}

/// Fails the case unless this holds.
macro_rules! ensure {
    ($holds:expr, $($text:tt)+) => {
        if !$holds {
            return Err($crate::testkit::report::Ended::Failed(format!($($text)+)));
        }
    };
}
pub(super) use ensure;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verdict_is_printed_and_only_failures_count() {
        let mut report = Report::default();
        report.add("order", Ok(()));
        report.add("replay", excluded("the manifest says replay: none"));
        assert!(report.passed());
        report.add("send", Err(Ended::Failed("nothing arrived".into())));
        assert!(!report.passed());
        assert_eq!(
            report.to_string(),
            "ok      order\n\
             --      replay: the manifest says replay: none\n\
             FAILED  send: nothing arrived\n"
        );
        let debug = format!("{:?}", report.into_result().unwrap_err());
        assert_eq!(debug, "these cases failed:\nFAILED  send: nothing arrived");
    }
}
