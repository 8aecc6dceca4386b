//! What a folder's own file may do, and what is in effect there.

use std::{collections::BTreeMap, path::Path};

use super::*;

impl Files {
    /// Writes the workspace's own file.
    fn inside(&self, text: &str) -> PathBuf {
        fs::create_dir_all(self.dir.path().join("work/.scv")).unwrap();
        self.write("work/.scv/config.toml", text, 0o644);
        self.dir.path().join("work")
    }

    /// What holds for a session in a workspace with this file.
    fn within(&self, text: &str) -> Result<Option<AgentConfig>, ConfigError> {
        let folder = self.inside(text);
        let config = self.load().unwrap();
        config.bounds.within(&folder, &config.agent)
    }

    fn effective(&self, workspace: &str) -> BTreeMap<String, (String, String)> {
        let folder = self.inside(workspace);
        let settings = effective(&self.sources, &folder, |_| None).unwrap();
        let place = self.dir.path().display().to_string();
        let shown = |setting: Setting| {
            let source = setting.source.to_string().replace(&place, "");
            (setting.key, (setting.value.to_string(), source))
        };
        settings.into_iter().map(shown).collect()
    }
}

#[test]
fn a_workspace_tightens_what_the_home_says_and_flags_stand_over_it() {
    let mut files = Files::new("[agent]\nmax_steps = 50\n[providers.a]\n");
    assert!(
        files
            .load()
            .unwrap()
            .bounds
            .within(Path::new("/absent"), &AgentConfig::default())
            .unwrap()
            .is_none()
    );
    let tighter = "[agent]\nmax_steps = 20\n[tools]\napproval_policy = 'always'\n\
                   [context]\nreserve_output_tokens = 9000\n";
    let agent = files.within(tighter).unwrap().unwrap();
    assert_eq!((agent.max_steps, agent.context.reserve_output_tokens), (20, 9000));
    assert_eq!(agent.tools.approval_policy, AgentPolicy::Always);
    assert_eq!(agent.active, "a", "providers stay");
    assert!(agent.tools.hidden_variables.contains(&"OPENAI_API_KEY".to_owned()));

    files.sources.overrides.approval_policy = given(ApprovalPolicy::Never);
    let agent = files.within(tighter).unwrap().unwrap();
    assert_eq!(agent.tools.approval_policy, AgentPolicy::Never);
}

#[test]
fn a_workspace_cannot_loosen_anything() {
    let files = Files::new("[agent]\nmax_steps = 50\n");
    for (text, line, told) in [
        (
            "[agent]\nmax_steps = 51\n",
            2,
            "agent.max_steps: a workspace can only lower it; it is 50",
        ),
        ("[tools]\napproval_policy = 'never'\n", 2, "can only make it stricter; it is \"on-risk\""),
        ("[context]\n\nsafety_margin_tokens = 1\n", 3, "can only raise it; it is 2048"),
    ] {
        let text = files.within(text).unwrap_err().to_string();
        assert!(text.starts_with(&format!(".scv/config.toml:{line}: ")), "{text}");
        assert!(text.contains(told), "{text}");
    }
}

#[test]
fn a_workspace_cannot_set_what_is_not_its_own() {
    let files = Files::new("");
    for (text, key) in [
        ("[providers.x]\nmodel = 'm'\n", "providers.x.model"),
        ("provider.active = 'echo'\n", "provider.active"),
        ("[agents.claude]\ncommand = 'x'\n", "agents.claude.command"),
        ("[plugins]\ndirs = ['p']\n", "plugins.dirs"),
        ("[plugins.p.settings]\na = 1\n", "plugins.p.settings.a"),
        ("[protocol]\nmax_client_frame_bytes = 5000\n", "protocol.max_client_frame_bytes"),
    ] {
        let text = files.within(text).unwrap_err().to_string();
        assert!(text.contains(&format!("{key}: a workspace cannot set it")), "{text}");
    }
    let text = files.within("workspace = '/'\n").unwrap_err().to_string();
    assert!(text.contains(".scv/config.toml:1: unknown field `workspace`"), "{text}");
    let text = files.within("[providers.x]\napi_key = 'k'\n").unwrap_err().to_string();
    assert!(!text.contains("'k'"), "{text}");
}

/// As in a person's home folder, where `.scv` is the home.
#[test]
fn the_home_itself_is_no_workspace_s_file() {
    let files = Files::new("");
    let folder = files.inside("[providers.a]\nmodel = 'm'\n");
    let home = folder.join(".scv");
    let sources = ConfigSources { home, ..ConfigSources::default() };
    fs::set_permissions(folder.join(".scv/config.toml"), fs::Permissions::from_mode(0o600))
        .unwrap();
    let config = Config::load(&sources, |_| None).unwrap();
    assert!(config.bounds.within(&folder, &config.agent).unwrap().is_none());
}

#[test]
fn each_value_is_shown_with_its_source_and_no_secret() {
    let mut files = Files::new(
        "[tools]\nmax_read_bytes = 7000\n[providers.a]\nmodel = 'home'\napi_key = 's3cret-s3cret'\n\
         headers = { \"x-y\" = 's3cret-s3cret' }\n[plugins.p.settings]\ntoken = 's3cret-s3cret'\n",
    );
    files.sources.file = Some(files.write("over.toml", "\nagent.max_steps = 9\n", 0o600));
    files.sources.overrides.model = given("flag");
    let shown = files.effective("[tools]\nmax_read_bytes = 6000\n");
    let expect = |key: &str, value: &str, source: &str| {
        let (found, from) = &shown[key];
        assert_eq!((found.as_str(), from.as_str()), (value, source), "{key}");
    };
    expect("tools.max_read_bytes", "6000", "/work/.scv/config.toml:2");
    expect("tools.max_write_bytes", "1048576", "default");
    expect("agent.max_steps", "9", "/over.toml:2");
    expect("providers.a.model", "\"flag\"", "--flag");
    expect("providers.a.api_key", "\"[secret]\"", "/config.toml:5");
    expect("providers.a.headers.x-y", "\"[secret]\"", "/config.toml:6");
    expect("plugins.p.settings.token", "\"[secret]\"", "/config.toml:8");
    expect("provider.active", "\"a\"", "default");
    assert!(!format!("{shown:?}").contains("s3cret"));
    let shown = Files::new("").effective("");
    let echo: Vec<_> = shown.keys().filter(|key| key.starts_with("providers.")).collect();
    assert_eq!(echo, ["providers.echo.kind"], "it has no server");
}
