//! `search`: lines of files by text, or paths by name.

use std::{
    io::Read,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use cap_std::fs::Dir;
use globset::{GlobBuilder, GlobMatcher};
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    Call, Plan, Refusal, ToolOutcome, Workshop, blocking,
    lines::Lines,
    output::printable,
    parse,
    place::{self, FileFault, Place, open_file},
    secrecy, summary,
    walk::{Found, Kind, Patience, Stop, Walk},
};
use crate::limits::{
    BINARY_SAMPLE_BYTES, MAX_HIT_BYTES, MAX_HITS_COUNT, MAX_PATTERN_BYTES, MAX_REGEX_BYTES,
    MAX_SEARCHED_FILE_BYTES,
};

/// Arguments of `search`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchCall {
    pattern: String,
    #[serde(default)]
    target: Target,
    /// Whether the pattern of a text search is a regular expression.
    #[serde(default)]
    regex: bool,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    path: Option<PathBuf>,
    /// Which files of a text search are looked into.
    #[serde(default)]
    glob: Option<String>,
}

/// What is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Target {
    #[default]
    Text,
    Names,
}

/// A call that is understood.
enum Search {
    Text { pattern: Regex, files: Option<Names>, with_secrets: bool },
    Names(Names),
}

/// A glob: of the whole path when it has a slash, else of the name.
struct Names {
    glob: GlobMatcher,
    is_path: bool,
}

/// What a text search passed by.
#[derive(Default)]
struct Skipped {
    secret: usize,
    large: usize,
    unread: usize,
}

pub(super) fn plan(arguments: &Value) -> Result<Plan, Refusal> {
    let call: SearchCall = parse(arguments)?;
    if call.pattern.is_empty() || call.pattern.len() > MAX_PATTERN_BYTES {
        return Err(Refusal::arguments("the pattern is empty or longer than 4 KiB"));
    }
    let path = call.path.clone().unwrap_or_else(|| ".".into());
    place::check(&path)?;
    Search::new(&call).map_err(Refusal::arguments)?;
    Ok(Plan {
        risk: secrecy::reading_risk(&path),
        summary: summary("Search", &format!("{} in {}", call.pattern, path.to_string_lossy())),
        cwd: None,
        call: Call::Search(call),
    })
}

pub(super) async fn run(
    call: SearchCall,
    workshop: Arc<Workshop>,
    cancel: CancellationToken,
) -> ToolOutcome {
    let max = workshop.config.output_limit_bytes;
    blocking(move || search(&workshop.dir, &workshop.cwd, &call, max, cancel)).await
}

fn search(
    dir: &Dir,
    cwd: &Path,
    call: &SearchCall,
    max: usize,
    cancel: CancellationToken,
) -> Result<ToolOutcome, FileFault> {
    let place = Place::of(dir, cwd, call.path.as_deref().unwrap_or(Path::new(".")))?;
    let search = Search::new(call).map_err(FileFault::NoMatch)?;
    let mut walk = Walk::new(Patience::new(cancel.clone()));
    let mut lines = Lines::new(max, MAX_HITS_COUNT);
    let mut skipped = Skipped::default();
    let mut buffer = Vec::new();
    let mut visit = |found: &Found<'_>| search.visit(found, &mut lines, &mut skipped, &mut buffer);
    let end = match place.open_folder() {
        Ok(start) => walk.run(&start, &mut visit),
        // One file, then.
        Err(FileFault::NotAFolder) => {
            place.open_file()?;
            let (folder, name) = (place.parent()?, place.name()?);
            visit(&Found { folder: &folder, name, path: Path::new(name), kind: Kind::File })
        }
        Err(fault) => return Err(fault),
    };
    skipped.unread += walk.unread;
    if lines.is_empty() && end.is_continue() {
        lines.push("(nothing found)");
    }
    lines.finish(end, "narrow the pattern, the path or the glob", skipped.note())
}

impl Search {
    /// Or one sentence about what is wrong.
    fn new(call: &SearchCall) -> Result<Self, String> {
        let glob = |glob: &str| Names::new(glob, call.ignore_case);
        match call.target {
            Target::Names if call.regex || call.glob.is_some() => {
                Err("a search for names takes its glob as the pattern, without regex".to_owned())
            }
            Target::Names => glob(&call.pattern).map(Self::Names),
            Target::Text => Ok(Self::Text {
                pattern: pattern(call)?,
                files: call.glob.as_deref().map(glob).transpose()?,
                with_secrets: call.path.as_deref().is_some_and(secrecy::is_secret_path),
            }),
        }
    }

    fn visit(
        &self,
        found: &Found<'_>,
        lines: &mut Lines,
        skipped: &mut Skipped,
        buffer: &mut Vec<u8>,
    ) -> ControlFlow<Stop> {
        match self {
            Self::Names(names) if names.hold(found) => {
                let end = if found.kind == Kind::Folder { "/" } else { "" };
                add(lines, &format!("{}{end}", found.path.to_string_lossy()))
            }
            Self::Text { pattern, files, with_secrets } => {
                if found.kind != Kind::File || files.as_ref().is_some_and(|f| !f.hold(found)) {
                    return ControlFlow::Continue(());
                }
                if !with_secrets && secrecy::is_secret_path(found.path) {
                    skipped.secret += 1;
                    return ControlFlow::Continue(());
                }
                if !read(found, skipped, buffer) {
                    return ControlFlow::Continue(());
                }
                hits(found.path, pattern, buffer, lines)
            }
            Self::Names(_) => ControlFlow::Continue(()),
        }
    }
}

fn pattern(call: &SearchCall) -> Result<Regex, String> {
    let pattern = match call.regex {
        true => call.pattern.clone(),
        false => regex::escape(&call.pattern),
    };
    RegexBuilder::new(&pattern)
        .case_insensitive(call.ignore_case)
        .size_limit(MAX_REGEX_BYTES)
        .dfa_size_limit(MAX_REGEX_BYTES)
        .build()
        .map_err(|error| format!("the regular expression is wrong or too large: {error}"))
}

impl Names {
    fn new(glob: &str, ignore_case: bool) -> Result<Self, String> {
        let is_path = glob.contains('/');
        let glob = GlobBuilder::new(glob.strip_prefix("./").unwrap_or(glob))
            .literal_separator(true)
            .case_insensitive(ignore_case)
            .build()
            .map_err(|error| format!("the glob is wrong: {error}"))?;
        Ok(Self { glob: glob.compile_matcher(), is_path })
    }

    fn hold(&self, found: &Found<'_>) -> bool {
        match self.is_path {
            true => self.glob.is_match(found.path),
            false => self.glob.is_match(found.name),
        }
    }
}

/// Whether the buffer now holds the file's text.
fn read(found: &Found<'_>, skipped: &mut Skipped, buffer: &mut Vec<u8>) -> bool {
    buffer.clear();
    let Ok((file, metadata)) = open_file(found.folder, found.name) else {
        skipped.unread += 1;
        return false;
    };
    if metadata.len() > MAX_SEARCHED_FILE_BYTES {
        skipped.large += 1;
        return false;
    }
    if file.take(MAX_SEARCHED_FILE_BYTES).read_to_end(buffer).is_err() {
        skipped.unread += 1;
        return false;
    }
    let sample = &buffer[..buffer.len().min(BINARY_SAMPLE_BYTES)];
    memchr::memchr(0, sample).is_none()
}

fn hits(path: &Path, pattern: &Regex, text: &[u8], lines: &mut Lines) -> ControlFlow<Stop> {
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(hit) = pattern.find(line) {
            let number = index + 1;
            let shown = around(line, hit.start());
            add(lines, &format!("{}:{number}:{shown}", path.to_string_lossy()))?;
        }
    }
    ControlFlow::Continue(())
}

/// The part of a line where the hit is.
fn around(line: &[u8], hit: usize) -> String {
    let start = if line.len() <= MAX_HIT_BYTES { 0 } else { hit.saturating_sub(MAX_HIT_BYTES / 4) };
    let end = line.len().min(start + MAX_HIT_BYTES);
    let before = if start > 0 { "…" } else { "" };
    let after = if end < line.len() { "…" } else { "" };
    format!("{before}{}{after}", printable(&line[start..end]))
}

fn add(lines: &mut Lines, line: &str) -> ControlFlow<Stop> {
    match lines.push(line) {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(Stop::Full),
    }
}

impl Skipped {
    fn note(&self) -> Option<String> {
        let parts = [
            (self.secret, "files that may hold secrets"),
            (self.large, "files over 16 MiB"),
            (self.unread, "that could not be read"),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        (!parts.is_empty()).then(|| format!("not searched: {}", parts.join(", ")))
    }
}

#[cfg(test)]
mod tests;
