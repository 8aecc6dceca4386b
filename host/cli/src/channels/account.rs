//! One account in full: how it is, since when, what waits, and what to do.

use scv_protocol::Component;

use crate::table::{age, ago};

/// The account's block of `scv channels status`.
pub(super) fn describe(component: &Component, now_unix_seconds: u64) -> String {
    let mut text = format!("{}  {}", component.id, state(component, now_unix_seconds));
    for (name, value) in rows(component, now_unix_seconds) {
        text.push_str(&format!("\n  {name:<10}{value}"));
    }
    text
}

fn state(component: &Component, now: u64) -> String {
    let since = component.since_unix_seconds;
    let lasts = since.map(|at| format!(" for {}", age(now.saturating_sub(at))));
    format!("{}{}", component.state, lasts.unwrap_or_default())
}

/// What there is to tell; a row without news is left out.
fn rows(component: &Component, now: u64) -> Vec<(&'static str, String)> {
    let c = component;
    let when = |at: Option<u64>| at.map_or_else(|| "never".to_owned(), |at| ago(at, now));
    let mut rows = vec![("error", c.error.clone()), ("to do", to_do(c))];
    if c.bot_id.is_some() || c.user_id.is_some() {
        rows.push(("bot", c.bot_id.clone()));
        rows.push(("owner", c.user_id.clone().or_else(|| Some("not known".into()))));
    }
    rows.push(("tools", Some(format!("{}", c.remote_tools))));
    rows.push(("contact", Some(when(c.last_success_unix_seconds))));
    // Nobody counts for an account that does not run.
    if c.running.is_some() {
        let (last_in, last_out) = (when(c.last_in_unix_seconds), when(c.last_out_unix_seconds));
        rows.push(("messages", Some(format!("last in {last_in}, last out {last_out}"))));
        rows.push(("turns", Some(counts(&[(c.running, "running"), (c.waiting, "waiting")]))));
        let replies =
            [(c.pending, "pending"), (c.held, "held"), (c.unconfirmed, "without a receipt")];
        rows.push(("replies", Some(counts(&replies))));
    }
    let refusal = c.last_refusal.as_ref();
    rows.push(("refusal", refusal.map(|last| refused(&last.code, &last.text))));
    rows.push(("restarts", Some(c.restarts.to_string())));
    rows.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn counts(counts: &[(Option<u64>, &str)]) -> String {
    let known = counts.iter().filter_map(|(count, what)| Some(format!("{} {what}", (*count)?)));
    known.collect::<Vec<_>>().join(", ")
}

fn refused(code: &str, text: &str) -> String {
    match text {
        "" => format!("code {code}"),
        text => format!("code {code}: {text}"),
    }
}

/// The daemon's hint, unless its error says the same already.
fn to_do(component: &Component) -> Option<String> {
    let error = component.error.as_deref().unwrap_or_default();
    component.hint.clone().filter(|hint| !error.contains(hint.as_str()))
}

#[cfg(test)]
mod tests {
    use scv_protocol::{ComponentState, Refusal};

    use super::*;

    #[test]
    fn everything_that_is_known_is_told() {
        let component = Component {
            id: "owl:default".into(),
            state: ComponentState::Connected,
            since_unix_seconds: Some(940),
            last_success_unix_seconds: Some(996),
            last_in_unix_seconds: Some(880),
            bot_id: Some("bot".into()),
            running: Some(1),
            waiting: Some(0),
            pending: Some(2),
            held: Some(3),
            unconfirmed: Some(4),
            last_refusal: Some(Refusal { code: "-2".into(), text: "too much".into() }),
            error: Some("broken".into()),
            hint: Some("mend it".into()),
            ..Component::default()
        };
        assert_eq!(
            describe(&component, 1_000),
            "owl:default  connected for 60 s\n\
             \x20 error     broken\n\
             \x20 to do     mend it\n\
             \x20 bot       bot\n\
             \x20 owner     not known\n\
             \x20 tools     none\n\
             \x20 contact   4 s ago\n\
             \x20 messages  last in 2 min ago, last out never\n\
             \x20 turns     1 running, 0 waiting\n\
             \x20 replies   2 pending, 3 held, 4 without a receipt\n\
             \x20 refusal   code -2: too much\n\
             \x20 restarts  0"
        );
    }

    #[test]
    fn an_account_that_does_not_run_has_no_counts() {
        let saved = Component { id: "owl:default".into(), ..Component::default() };
        let text = describe(&saved, 1_000);
        assert!(!text.contains("replies") && text.contains("contact   never"), "{text}");
    }

    #[test]
    fn what_the_error_says_is_not_said_twice() {
        let component = Component {
            error: Some("signed out; run `scv it`".into()),
            hint: Some("run `scv it`".into()),
            ..Component::default()
        };
        assert!(!describe(&component, 0).contains("to do"));
    }
}
