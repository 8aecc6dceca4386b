//! Configuration files as people write them, and what they become.

use std::{fs, os::unix::fs::PermissionsExt};

use scv_agent::config::{ApprovalPolicy as AgentPolicy, ProviderKind};

use super::*;

mod workspace;

struct Files {
    dir: tempfile::TempDir,
    sources: ConfigSources,
}

impl Files {
    fn new(home: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let sources = ConfigSources { home: dir.path().to_owned(), ..ConfigSources::default() };
        let files = Self { dir, sources };
        files.write("config.toml", home, 0o600);
        files
    }

    fn write(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn load(&self) -> Result<Config, ConfigError> {
        Config::load(&self.sources, |_| None)
    }
}

fn given<T>(value: impl Into<T>) -> Option<Given<T>> {
    Some(Given { value: value.into(), by: "--flag" })
}

fn problem(home: &str) -> String {
    Files::new(home).load().unwrap_err().to_string()
}

#[test]
fn nothing_configured_is_echo_unless_the_key_is_there() {
    let files = Files::new("");
    assert_eq!(files.load().unwrap().agent.active, "echo");
    let with_key =
        Config::load(&files.sources, |name| (name == "OPENAI_API_KEY").then(|| "k".to_owned()));
    assert_eq!(with_key.unwrap().agent.active, "openai");
    let with_blank_key = Config::load(&files.sources, |_| Some(String::new()));
    assert_eq!(with_blank_key.unwrap().agent.active, "echo");
}

#[test]
fn echo_can_be_named_whatever_keys_there_are() {
    let mut files = Files::new("");
    files.sources.overrides.provider = given("echo");
    let config = Config::load(&files.sources, |_| Some("k".into())).unwrap();
    assert_eq!(config.agent.active, "echo");
    let echo = &config.agent.providers["echo"];
    assert!(matches!(echo.kind, ProviderKind::Echo));
}

#[test]
fn unknown_keys_are_named_with_file_and_line() {
    for (text, line, key) in [
        ("colour = 1\n", 1, "colour"),
        ("[tools]\n\nmax_write = 2\n", 3, "max_write"),
        ("[providers.x]\nmodel = 'm'\nkey = 'k'\n", 3, "key"),
        ("[plugins]\ndirs = []\n\n[plugins.pigeon]\nenable = false\n", 5, "enable"),
        ("[agent]\nmax_steps = 1\n[agentss.x]\n", 3, "agentss"),
    ] {
        let text = problem(text);
        assert!(text.contains(&format!("config.toml:{line}: ")), "{text}");
        assert!(text.contains(&format!("`{key}`")), "{text}");
    }
}

#[test]
fn a_wrong_value_is_never_quoted() {
    for text in [
        "[providers.x]\napi_key = 123456\n",
        "[providers.x]\nheaders = 's3cret-123456'\n",
        "[providers.x.headers]\nauthorization = 123456\n",
        "[providers.x]\napi_key = 's3cret-123456\n",
    ] {
        let text = problem(text);
        assert!(text.contains("config.toml:2: "), "{text}");
        assert!(!text.contains("123456"), "{text}");
    }
}

#[test]
fn a_file_with_keys_must_be_private() {
    for text in ["[providers.x]\napi_key = 'k'\n", "[providers.x.headers]\nauthorization = 'k'\n"] {
        let files = Files::new("");
        files.write("config.toml", text, 0o640);
        let problem = files.load().unwrap_err().to_string();
        assert!(problem.contains("chmod 600"), "{problem}");
        files.write("config.toml", text, 0o600);
        files.load().unwrap();
    }
    let files = Files::new("");
    files.write("config.toml", "[agent]\nmax_steps = 3\n", 0o644);
    assert_eq!(files.load().unwrap().agent.max_steps, 3);
}

#[test]
fn the_named_file_stands_over_the_home_and_flags_over_both() {
    let mut files = Files::new(
        "[tools]\napproval_policy = 'always'\nmax_read_bytes = 5000\n[providers.a]\nmodel = 'home'\nbase_url = 'http://127.0.0.1:1'\n",
    );
    let over = files.write(
        "over.toml",
        "[tools]\nmax_read_bytes = 7000\n[providers.a]\nmodel = 'over'\n",
        0o600,
    );
    files.sources.file = Some(over);
    let agent = files.load().unwrap().agent;
    assert_eq!(agent.tools.max_read_bytes, 7000);
    assert_eq!(agent.tools.approval_policy, AgentPolicy::Always);
    assert_eq!(agent.providers["a"].model, "over");

    files.sources.overrides = Overrides {
        model: given("flag"),
        approval_policy: given(ApprovalPolicy::Never),
        ..Overrides::default()
    };
    let agent = files.load().unwrap().agent;
    assert_eq!(agent.providers["a"].model, "flag");
    assert_eq!(agent.tools.approval_policy, AgentPolicy::Never);
    let ProviderKind::OpenAiCompatible(server) = &agent.providers["a"].kind else {
        panic!("a is a server");
    };
    assert_eq!(server.base_url, "http://127.0.0.1:1");
}

#[test]
fn a_named_file_must_exist() {
    let mut files = Files::new("");
    files.sources.file = Some(files.dir.path().join("absent.toml"));
    let text = files.load().unwrap_err().to_string();
    assert!(text.contains("absent.toml does not exist"), "{text}");
}

#[test]
fn limits_that_contradict_each_other_name_both_keys() {
    let text = problem("[tools]\ncommand_timeout_seconds = 20\nmax_timeout_seconds = 10\n");
    assert!(text.contains("tools.command_timeout_seconds"), "{text}");
    assert!(text.contains("tools.max_timeout_seconds"), "{text}");
    assert!(problem("[agent]\nmax_steps = 0\n").contains("agent.max_steps"));
    let text = problem("[tools]\nmax_read_bytes = 5000000\n");
    assert!(text.contains("protocol.max_server_frame_bytes"), "{text}");
    assert!(text.contains("tools.max_read_bytes"), "{text}");
}

#[test]
fn several_providers_need_a_choice() {
    let two = "[providers.a]\n[providers.b]\n";
    assert!(problem(two).contains("provider.active"));
    let config = Files::new(&format!("provider.active = 'b'\n{two}")).load();
    assert_eq!(config.unwrap().agent.active, "b");
    let unknown = problem(&format!("provider.active = 'c'\n{two}"));
    assert!(unknown.contains("'c'; name one of a, b, echo, openai"), "{unknown}");
}

#[test]
fn keys_come_from_their_variable_and_stay_hidden_from_tools() {
    let files = Files::new("[providers.a]\napi_key_env = 'MY_KEY'\n");
    let config =
        Config::load(&files.sources, |name| (name == "MY_KEY").then(|| "s3cret".to_owned()))
            .unwrap();
    let ProviderKind::OpenAiCompatible(server) = &config.agent.providers["a"].kind else {
        panic!("a is a server");
    };
    assert_eq!(server.api_key.as_ref().unwrap().expose(), "s3cret");
    assert!(config.agent.tools.hidden_variables.contains(&"MY_KEY".to_owned()));
    assert!(!format!("{config:?}").contains("s3cret"));
}

#[test]
fn plugins_are_switched_off_and_get_their_settings() {
    let config = Files::new(
        "[plugins]\ndirs = ['/opt/p']\n[plugins.pigeon]\nenabled = false\n[plugins.owl.settings]\nspeed = 3\n",
    )
    .load()
    .unwrap();
    assert_eq!(config.plugins.dirs, [PathBuf::from("/opt/p")]);
    assert!(config.plugins.disabled.contains("pigeon"));
    assert_eq!(config.plugins.settings["owl"]["speed"], 3);
}

#[test]
fn another_server_needs_a_model_of_its_own() {
    let model = |files: &Files| files.load().unwrap().agent.providers["a"].model.clone();
    let table = "[providers.a]\nbase_url = 'http://127.0.0.1:1'\n";
    assert!(problem(table).contains("providers.a.model"));
    assert_eq!(model(&Files::new("[providers.a]\n")), "gpt-4.1-mini");
    let mut files = Files::new(table);
    files.sources.overrides.model = given("m");
    assert_eq!(model(&files), "m");
}

#[test]
fn a_key_variable_that_is_named_must_be_set_where_it_is_needed() {
    let table = "[providers.a]\napi_key_env = 'MY_KEY'\n";
    assert!(problem(table).contains("MY_KEY"));
    Files::new("[providers.a]\napi_key_env = 'OPENAI_API_KEY'\n").load().unwrap();
    let mut files = Files::new(table);
    PluginsConfig::load(&files.sources).unwrap();
    files.sources.overrides.provider = given("echo");
    files.load().unwrap();
}

#[test]
fn how_much_is_read_and_written_can_be_set() {
    let tools = Files::new("[tools]\nmax_read_bytes = 5000\nmax_write_bytes = 7\n").load();
    let tools = tools.unwrap().agent.tools;
    assert_eq!((tools.max_read_bytes, tools.max_write_bytes), (5000, 7));
    assert!(problem("[tools]\nmax_write_bytes = 0\n").contains("tools.max_write_bytes"));
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let files = Files::new("");
    let path = files.dir.path().join("config.toml");
    fs::remove_file(&path).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let error = files.load().unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("regular file"), "{cause}");
    assert!(!error.to_string().contains(&cause), "the chain is printed with its causes");
}

#[test]
fn every_limit_reaches_the_agent() {
    let files = Files::new(
        "[agent]\nmax_steps = 2\n[context]\nmax_tokens = 50000\nreserve_output_tokens = 1000\n\
         safety_margin_tokens = 100\nbytes_per_token = 4\n[session]\nmax_history_bytes = 700000\n\
         max_messages = 70\n[protocol]\nmax_client_frame_bytes = 65536\n\
         max_server_frame_bytes = 4194304\n",
    );
    let config = files.load().unwrap();
    let AgentConfig { context, history, .. } = config.agent;
    assert_eq!((context.max_tokens, context.bytes_per_token), (50_000, 4));
    assert_eq!((context.reserve_output_tokens, context.safety_margin_tokens), (1000, 100));
    assert_eq!((history.max_bytes, history.max_messages), (700_000, 70));
    assert_eq!(config.max_client_frame_bytes, 65_536);
    assert_eq!(config.agent.max_server_frame_bytes, 4_194_304);
}

#[test]
fn frames_have_bounds_of_their_own() {
    for text in [
        "[protocol]\nmax_client_frame_bytes = 10\n",
        "[protocol]\nmax_client_frame_bytes = 100000000\n",
        "[protocol]\nmax_server_frame_bytes = 100000000\n",
    ] {
        let key = text.split('\n').nth(1).unwrap().split(' ').next().unwrap();
        assert!(problem(text).contains(&format!("protocol.{key}")), "{text}");
    }
}

#[test]
fn a_wrong_value_names_its_key() {
    for (text, line, key) in [
        ("[tools]\n\nmax_read_bytes = 'many'\n", 3, "tools.max_read_bytes: "),
        ("[tools]\nmax_write_bytes = 0\n", 2, "tools.max_write_bytes: it is 0"),
        ("tools.approval_policy = 'sometimes'\n", 1, "tools.approval_policy: "),
        ("[context]\nmax_tokens = -1\n", 2, "context.max_tokens: "),
        ("[plugins.\"a b\"]\nisolation = 'jail'\n", 2, "plugins.\"a b\".isolation: "),
    ] {
        let text = problem(text);
        assert!(text.contains(&format!("config.toml:{line}: {key}")), "{text}");
    }
}

#[test]
fn agents_and_isolation_are_read() {
    let config = Files::new(
        "[agents.claude]\ncommand = '/usr/bin/claude'\nargs = ['-p']\n\
         [plugins.pigeon]\nisolation = 'process'\n",
    );
    let plugins = config.load().unwrap().plugins;
    assert_eq!(plugins.isolation["pigeon"], Isolation::Process);
    let text = problem("[agents.claude]\nspeed = 3\n");
    assert!(text.contains("config.toml:2: ") && text.contains("`speed`"), "{text}");
}

#[test]
fn a_plugin_s_secret_must_be_private_too() {
    let files = Files::new("");
    files.write("config.toml", "[plugins.p.settings]\nhook_secret = 's'\n", 0o644);
    assert!(files.load().unwrap_err().to_string().contains("chmod 600"));
    files.write("config.toml", "[plugins.p.settings]\nspeed = 's'\n", 0o644);
    files.load().unwrap();
}
