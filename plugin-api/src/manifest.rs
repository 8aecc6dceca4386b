//! Builds a plugin's manifest at compile time, so that it can be read from the file's bytes.

/// Completes an author's manifest: adds `scv_plugin`, `abi`, the crate's `version` and
/// `built_with`, and makes it one line.
///
/// The author writes the rest of [`wire::Manifest`](crate::wire::Manifest) as a JSON object,
/// best in a file of its own:
///
/// ```
/// const MANIFEST: &str = scv_plugin_api::manifest!(r#"{
///     "name": "letters",
///     "channels": [{"id": "letters", "title": "Letters",
///                   "limits": {"max_message_bytes": 4096, "max_wait_ms": 30000}}]
/// }"#); // or: manifest!(include_str!("../manifest.json"))
/// let manifest = scv_plugin_api::wire::Manifest::read(MANIFEST.as_bytes())?;
/// assert_eq!(manifest.abi, "1.0");
/// # Ok::<(), scv_plugin_api::wire::Fault>(())
/// ```
#[macro_export]
macro_rules! manifest {
    ($author:expr) => {{
        const HEAD: &[&str] = &$crate::manifest::head(env!("CARGO_PKG_VERSION"));
        const AUTHOR: &str = $author;
        const LEN: usize = $crate::manifest::len(HEAD, AUTHOR);
        const BYTES: [u8; LEN] = $crate::manifest::join(HEAD, AUTHOR);
        match ::core::str::from_utf8(&BYTES) {
            Ok(text) => text,
            Err(_) => panic!("whole strings were joined"),
        }
    }};
}

/// The parts before what the author wrote, without a closing brace.
#[must_use]
pub const fn head(version: &str) -> [&str; 11] {
    [
        r#"{"scv_plugin":1,"abi":"1.0","version":""#,
        version,
        r#"","built_with":{"plugin_api":""#,
        crate::VERSION,
        r#"","rustc":""#,
        env!("SCV_BUILT_RUSTC"),
        r#"","target":""#,
        env!("SCV_BUILT_TARGET"),
        r#"","profile":""#,
        env!("SCV_BUILT_PROFILE"),
        r#""},"#,
    ]
}

/// How long the joined document is.
#[must_use]
pub const fn len(head: &[&str], author: &str) -> usize {
    let mut len = 0;
    let mut part = 0;
    while part < head.len() {
        len += head[part].len();
        part += 1;
    }
    let mut at = Compact::begin(author);
    while let Some(next) = at.step(author.as_bytes()) {
        len += 1;
        at = next.1;
    }
    len
}

/// The joined document; `N` is what [`len`] says.
#[must_use]
pub const fn join<const N: usize>(head: &[&str], author: &str) -> [u8; N] {
    let mut out = [0; N];
    let mut len = 0;
    let mut part = 0;
    while part < head.len() {
        let mut i = 0;
        while i < head[part].len() {
            out[len] = head[part].as_bytes()[i];
            len += 1;
            i += 1;
        }
        part += 1;
    }
    let mut at = Compact::begin(author);
    while let Some(next) = at.step(author.as_bytes()) {
        out[len] = next.0;
        len += 1;
        at = next.1;
    }
    out
}

/// Walks a JSON text and leaves out the blanks outside its strings.
#[derive(Clone, Copy)]
struct Compact {
    at: usize,
    in_string: bool,
    escaped: bool,
}

impl Compact {
    /// Stands after the opening brace.
    const fn begin(json: &str) -> Self {
        let mut at = 0;
        while at < json.len() && json.as_bytes()[at].is_ascii_whitespace() {
            at += 1;
        }
        assert!(at < json.len() && json.as_bytes()[at] == b'{', "a manifest is a JSON object");
        Self { at: at + 1, in_string: false, escaped: false }
    }

    /// The next byte that stays, and the place after it.
    const fn step(mut self, json: &[u8]) -> Option<(u8, Self)> {
        while self.at < json.len() {
            let byte = json[self.at];
            self.at += 1;
            if !self.in_string && byte.is_ascii_whitespace() {
                continue;
            }
            if byte == b'"' && !self.escaped {
                self.in_string = !self.in_string;
            }
            self.escaped = self.in_string && byte == b'\\' && !self.escaped;
            return Some((byte, self));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::wire::Manifest;

    const SAMPLE: &str = crate::manifest!(
        r#"
        { "name": "letters", "homepage": "a \" \\ b",
          "channels": [ {"id": "letters", "title": "Two words",
             "limits": {"max_message_bytes": 10, "max_wait_ms": 1000}} ] }
        "#
    );

    #[test]
    fn it_is_one_line_and_keeps_strings() {
        let manifest = Manifest::read(SAMPLE.as_bytes()).unwrap();
        assert!(!SAMPLE.contains('\n') && SAMPLE.ends_with("}}]}"));
        assert_eq!(manifest.homepage.as_deref(), Some(r#"a " \ b"#));
        assert_eq!(manifest.channels[0].title, "Two words");
    }

    #[test]
    fn it_says_how_it_was_built() {
        let manifest = Manifest::read(SAMPLE.as_bytes()).unwrap();
        assert_eq!(manifest.version, env!("CARGO_PKG_VERSION"));
        assert_eq!(manifest.built_with.plugin_api, crate::VERSION);
        assert!(manifest.built_with.rustc.starts_with("1."));
        assert!(manifest.built_with.target.contains('-'));
    }
}
