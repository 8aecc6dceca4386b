//! The options of one channel's sign-in, as its manifest declares them.

use std::{collections::BTreeMap, ffi::OsString};

use anyhow::bail;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use scv_bridge::AccountName;
use scv_plugin_api::wire::{ChannelManifest, LoginOption, OptionKind};

use super::super::args::AccountArg;
use crate::terminal;

/// What the person gave.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) account: AccountName,
    /// A secret option that was asked for is here with an empty value.
    pub(super) values: BTreeMap<String, String>,
}

/// Parses what stands after the channel's name.
pub(super) fn parse(
    channel: &ChannelManifest,
    name: &str,
    words: &[OsString],
) -> Result<Given, clap::Error> {
    let program = OsString::from(format!("scv channels login {name}"));
    let mut command = command(channel, name);
    let words = std::iter::once(program).chain(words.iter().cloned());
    let matches = command.try_get_matches_from_mut(words)?;
    let account = AccountArg::from_arg_matches(&matches)?.name;
    let account = AccountName::new(account)
        .map_err(|error| command.error(clap::error::ErrorKind::ValueValidation, error))?;
    let options = channel.login_options.iter();
    let values = options.filter_map(|option| Some((option.name.clone(), value(&matches, option)?)));
    Ok(Given { account, values: values.collect() })
}

/// Asks for secret options, which are never arguments: others could see those.
pub(super) async fn with_secrets(
    channel: &ChannelManifest,
    mut values: BTreeMap<String, String>,
) -> anyhow::Result<BTreeMap<String, String>> {
    for option in &channel.login_options {
        if option.kind != OptionKind::Secret || !values.contains_key(&option.name) {
            continue;
        }
        crate::ask(&format!("{}: ", terminal::harmless(&option.name)));
        match terminal::hidden_line().await {
            Some(line) if !line.is_empty() => values.insert(option.name.clone(), line),
            _ => bail!("no {} was given", terminal::harmless(&option.name)),
        };
    }
    Ok(values)
}

fn command(channel: &ChannelManifest, name: &str) -> Command {
    let command = Command::new(format!("scv channels login {name}"))
        .no_binary_name(false)
        .about(format!("Sign an account of {} in", channel.title));
    let command = AccountArg::augment_args(command);
    let command = command.args(channel.login_options.iter().map(argument));
    let usage = command.get_arguments().map(usage).collect::<Vec<_>>().join(" ");
    command.override_usage(format!("scv channels login {name} {usage}"))
}

/// An option as the line about usage has it, which is what a wrong one is answered with.
fn usage(argument: &Arg) -> String {
    let name = argument.get_long().unwrap_or_default();
    let value = argument.get_value_names().and_then(|names| Some(format!(" <{}>", names.first()?)));
    let text = format!("--{name}{}", value.unwrap_or_default());
    if argument.is_required_set() { text } else { format!("[{text}]") }
}

fn argument(option: &LoginOption) -> Arg {
    let argument =
        Arg::new(option.name.clone()).long(option.name.clone()).help(option.help.clone());
    match option.kind {
        OptionKind::Flag => argument.action(ArgAction::SetTrue),
        OptionKind::Secret => {
            argument.action(ArgAction::SetTrue).help(format!("{} (asked for, hidden)", option.help))
        }
        OptionKind::Url | OptionKind::Text | OptionKind::Unknown => {
            let what = if option.kind == OptionKind::Url { "URL" } else { "TEXT" };
            let argument = argument.value_name(what).required(option.required);
            match &option.default {
                Some(default) => argument.required(false).default_value(default.clone()),
                None => argument,
            }
        }
    }
}

fn value(matches: &ArgMatches, option: &LoginOption) -> Option<String> {
    let name = option.name.as_str();
    match option.kind {
        OptionKind::Flag => matches.get_flag(name).then(|| "true".to_owned()),
        OptionKind::Secret => (matches.get_flag(name) || option.required).then(String::new),
        OptionKind::Url | OptionKind::Text | OptionKind::Unknown => {
            matches.get_one::<String>(name).cloned()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pigeon() -> ChannelManifest {
        serde_json::from_value(json!({
            "id": "pigeon",
            "title": "Pigeon Post",
            "limits": {"max_message_bytes": 100, "max_wait_ms": 1000},
            "login_options": [
                {"name": "loft-url", "kind": "url", "default": "https://loft.example", "help": "Where the loft is"},
                {"name": "ring", "kind": "text", "required": true},
                {"name": "fast", "kind": "flag"},
                {"name": "whistle", "kind": "secret"},
            ],
        }))
        .unwrap()
    }

    fn given(words: &[&str]) -> Result<Given, clap::Error> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        parse(&pigeon(), "pigeon", &words)
    }

    #[test]
    fn values_defaults_flags_and_secrets() {
        let given = given(&["--account", "work", "--ring", "7", "--fast", "--whistle"]).unwrap();
        assert_eq!(given.account.as_str(), "work");
        let expected = [
            ("loft-url", "https://loft.example"),
            ("ring", "7"),
            ("fast", "true"),
            ("whistle", ""),
        ];
        assert_eq!(given.values, expected.map(|(name, value)| (name.into(), value.into())).into());
    }

    #[test]
    fn another_channels_option_is_refused_by_name() {
        let text = given(&["--ring", "7", "--cage", "3"]).unwrap_err().to_string();
        assert!(text.contains("--cage"), "{text}");
        let usage = "scv channels login pigeon [--account <NAME>] [--loft-url <URL>] --ring <TEXT> \
                     [--fast] [--whistle]";
        assert!(text.contains(usage), "what there is is shown: {text}");
    }

    #[test]
    fn a_secret_is_never_an_argument() {
        let text = given(&["--ring", "7", "--whistle=hush"]).unwrap_err().to_string();
        assert!(text.contains("--whistle"), "{text}");
    }

    #[test]
    fn what_is_missing_or_badly_named_is_said() {
        assert!(given(&[]).unwrap_err().to_string().contains("--ring"));
        let bad = given(&["--ring", "7", "--account", "a/b"]).unwrap_err();
        assert!(bad.to_string().contains("account name"), "{bad}");
    }
}
