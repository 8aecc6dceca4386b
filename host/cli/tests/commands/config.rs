//! `scv config` and `scv doctor`.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::Value;

use crate::support::Home;

#[test]
fn each_value_is_shown_with_where_it_comes_from() {
    let home = Home::new();
    home.configure("[tools]\nmax_read_bytes = 7000\n\n[providers.a]\napi_key = 's3cret-s3cret'\n");
    let shown = home.command(&["config", "show"]).env("SCV_MODEL", "m").output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let line = |start: &str| shown.lines().find(|line| line.starts_with(start)).unwrap();
    assert!(line("tools.max_read_bytes = 7000 ").ends_with("config.toml:2"), "{shown}");
    assert!(line("tools.max_write_bytes = 1048576 ").ends_with("# default"), "{shown}");
    assert!(line("providers.a.model = \"m\" ").ends_with("# SCV_MODEL"), "{shown}");
    assert!(!shown.contains("s3cret"), "{shown}");

    let json = home.scv(&["config", "show", "--json", "--model", "n"]).json();
    let value = |key: &str| -> (Value, Value) {
        let found = json.as_array().unwrap().iter().find(|setting| setting["key"] == key).unwrap();
        (found["value"].clone(), found["source"].clone())
    };
    assert_eq!(value("agent.max_steps"), (128.into(), "default".into()));
    assert_eq!(value("providers.a.model"), ("n".into(), "--model".into()));
    assert_eq!(value("providers.a.api_key").0, "[secret]");
}

#[test]
fn init_writes_a_private_file_once() {
    let home = Home::new();
    let path = home.scv(&["config", "path"]).with(0).out;
    assert_eq!(path.trim_end(), home.path().join("config.toml").to_str().unwrap());
    home.scv(&["config", "init"]).with(0);
    let mode = fs::metadata(path.trim_end()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let before = home.scv(&["config", "show", "--json"]).json();
    let again = home.scv(&["config", "init"]).with(1);
    assert!(again.err.contains("exists already"), "{again:?}");
    fs::remove_file(path.trim_end()).unwrap();
    assert_eq!(home.scv(&["config", "show", "--json"]).json(), before, "it changes nothing");
}

#[test]
fn the_file_of_the_current_folder_tightens_its_sessions() {
    let home = Home::new();
    let folder = home.plugins().join("../.scv");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("config.toml"), "[tools]\napproval_policy = 'always'\n").unwrap();
    home.scv(&["exec", "call read {\"path\":\"absent\"}"]).with(3);
    fs::write(folder.join("config.toml"), "\n[agent]\nmax_steps = 1000\n").unwrap();
    let told = ".scv/config.toml:3: agent.max_steps: a workspace can only lower it; it is 128";
    for words in [&["exec", "hello"][..], &["config", "show"]] {
        let wrong = home.scv(words).with(2);
        assert!(wrong.err.contains(told), "{wrong:?}");
    }
}

fn finding<'a>(findings: &'a Value, check: &str) -> &'a Value {
    let mut findings = findings.as_array().unwrap().iter();
    findings.find(|finding| finding["check"] == check).unwrap_or(&Value::Null)
}

#[test]
fn doctor_has_a_line_for_each_thing_and_says_when_echo_answers() {
    let home = Home::with_fixture();
    let fresh = home.scv(&["doctor", "--json"]).json();
    for (check, state) in [
        ("home", "ok"),
        ("socket", "note"),
        ("config", "ok"),
        ("provider", "note"),
        ("plugins", "ok"),
        ("accounts", "note"),
    ] {
        assert_eq!(finding(&fresh, check)["state"], state, "{check}: {fresh}");
    }
    let provider = finding(&fresh, "provider").to_string();
    assert!(provider.contains("echo") && provider.contains("OPENAI_API_KEY"), "{provider}");
    assert!(!home.path().exists(), "it changes nothing");

    let daemon = home.daemon(&[]);
    let text = home.scv(&["doctor"]).with(0).out;
    assert!(text.contains(&format!("(pid {})", daemon.pid())), "{text}");
    assert!(text.contains("fixture 0.1.0 is loaded"), "{text}");
}

#[test]
fn doctor_finds_what_is_wrong_and_names_the_fix() {
    let home = Home::with_fixture();
    home.configure("[providers.openai]\n");
    home.save("channels/fixture/accounts/default.json", "no json");
    home.save("plugins.lock.json", "x");
    let open = home.path().join("channels/fixture");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(home.plugins().join("libscv_channel_text.so"), "no library").unwrap();
    let done = home.scv(&["doctor"]).with(1);
    for told in [
        "WRONG  modes     others can read ",
        "chmod -R go-rwx",
        "WRONG  provider  openai answers with gpt-4.1-mini",
        "WRONG  plugins   text  is refused: ",
        "plugins.lock.json",
        "WRONG  accounts  ",
    ] {
        assert!(done.out.contains(told), "{told}: {}", done.out);
    }
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let shared = home.scv(&["doctor"]).with(1);
    assert!(shared.out.contains("WRONG  home "), "{shared:?}");
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
    home.configure("[agent]\nsteps = 1\n");
    let wrong = home.scv(&["doctor"]).with(1);
    assert!(wrong.out.contains("WRONG  config ") && wrong.out.contains("config.toml:2: "));
}

#[test]
fn doctor_tells_what_a_running_daemon_has_not_read_yet() {
    let home = Home::with_fixture();
    let _daemon = home.daemon(&[]);
    let changed = "the configuration has changed since the daemon read it; restart";
    assert!(!home.scv(&["doctor"]).with(0).out.contains(changed));
    home.configure("[plugins.fixtrue]\nenabled = true\n");
    let noted = home.scv(&["doctor"]).with(0);
    for told in [changed, "note   plugins   [plugins.fixtrue] is configured, and there is no"] {
        assert!(noted.out.contains(told), "{told}: {noted:?}");
    }
    assert!(home.scv(&["status"]).with(0).out.contains(changed));
    home.configure("[plugins.fixture.settings]\nloudness = 11\n");
    let wrong = home.scv(&["doctor"]).with(1);
    let told = "WRONG  plugins   fixture: it has no setting 'loudness'; remove the key";
    assert!(wrong.out.contains(told), "{wrong:?}");
}

#[test]
fn doctor_says_when_a_key_crosses_the_network_in_the_clear() {
    let home = Home::new();
    let provider = |url: &str| {
        home.configure(&format!("[providers.a]\nbase_url = '{url}'\nmodel = 'm'\n"));
        let mut doctor = home.command(&["doctor", "--json"]);
        let done = doctor.env("OPENAI_API_KEY", "sk-0123456789").output().unwrap();
        let findings: Value = serde_json::from_slice(&done.stdout).unwrap();
        finding(&findings, "provider").clone()
    };
    let open = provider("http://192.0.2.1/v1");
    assert!(open["state"] == "note" && open["text"].to_string().contains("unencrypted"), "{open}");
    for safe in ["https://192.0.2.1/v1", "http://127.0.0.1:1/v1"] {
        assert_eq!(provider(safe)["state"], "ok", "{safe}");
    }
}
