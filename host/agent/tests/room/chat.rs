//! A model server on loopback.

use std::{sync::Arc, time::Duration};

use scv_agent::{
    Agent, AgentConfig, Secret,
    config::{OpenAiConfig, ProviderConfig, ProviderKind, WireApi},
};
use scv_protocol::{ServerEvent, TurnFailure};
use scv_simulators::{
    Model,
    model::{Answer, Piece},
};
use serde_json::json;

use crate::client::{
    PATIENCE, answer, approval_of, connect, connect_with, kind, outputs, shown, turn_of,
};

const KEY: &str = "sk-test-0123456789";

fn agent(model: &Model) -> Arc<Agent> {
    agent_with(model, |_| {})
}

fn agent_with(model: &Model, change: impl FnOnce(&mut OpenAiConfig)) -> Arc<Agent> {
    let mut server = OpenAiConfig {
        wire_api: WireApi::Chat,
        base_url: model.base_url(),
        api_key: Some(Secret::new(KEY)),
        ..OpenAiConfig::default()
    };
    change(&mut server);
    let kind = ProviderKind::OpenAiCompatible(server);
    let mut config = AgentConfig { active: "test".into(), ..AgentConfig::default() };
    config.providers.insert("test".into(), ProviderConfig { model: "m-1".into(), kind });
    Agent::new(config).expect("a usable configuration")
}

fn failure(events: &[ServerEvent]) -> (TurnFailure, String) {
    match events.last() {
        Some(ServerEvent::TurnFailed { code, message, .. }) => (*code, message.clone()),
        other => panic!("a failed turn, not {other:?}"),
    }
}

#[tokio::test]
async fn a_streamed_answer_arrives_and_is_remembered() {
    let model = Model::start().expect("a model");
    model.on(
        "hi",
        [Answer::Stream(vec![
            Piece::Text("hel".into()),
            Piece::Text("lo".into()),
            Piece::Finish("stop"),
            Piece::Usage { prompt: 7, completion: 2 },
            Piece::Done,
        ])],
    );
    let mut client = connect(&agent(&model)).await;
    let events = client.turn("hi").await;
    assert_eq!((answer(&events).as_str(), shown(&events).as_str()), ("hello", "hello"));
    let Some(ServerEvent::TurnCompleted { usage: Some(usage), steps: 1, .. }) = events.last()
    else {
        panic!("a completed turn, not {:?}", events.last());
    };
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(7), Some(2)));
    client.turn("again").await;
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].header("authorization"), Some(&*format!("Bearer {KEY}")));
    let roles: Vec<_> = requests[1].json()["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .map(|message| message["role"].as_str().expect("a role").to_owned())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    assert_eq!(requests[1].json()["model"], "m-1");
    assert_eq!(model.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_tool_call_runs_and_its_output_goes_back() {
    let model = Model::start().expect("a model");
    let call = Answer::tool_call("c1", "bash", &json!({"command": "echo from the tool"}));
    model.on("do it", [call, Answer::text("done")]);
    let mut client = connect(&agent(&model)).await;
    client.start("do it").await;
    let events = client.until("approval.requested").await;
    client.resolve(approval_of(events.last().expect("it")), true).await;
    let events = client.until_end().await;
    assert_eq!(outputs(&events), [("from the tool\n".to_owned(), true)]);
    assert_eq!(answer(&events), "done");
    let second = model.requests()[1].json();
    let last = second["messages"].as_array().and_then(|all| all.last()).expect("a message").clone();
    assert_eq!(last["tool_call_id"], "c1");
    assert_eq!(last["content"], "from the tool\n");
    assert_eq!(model.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn without_tools_none_is_offered_and_no_folder_named() {
    let model = Model::start().expect("a model");
    let mut client =
        connect_with(&agent(&model), |start| start.no_tools = true).await.expect("a session");
    client.turn("hi").await;
    let body = model.requests()[0].json();
    assert_eq!(body.get("tools"), None);
    let folder = client.folder.path().to_string_lossy().into_owned();
    assert!(!body.to_string().contains(&folder));
}

#[tokio::test]
async fn cancel_drops_the_request() {
    let model = Model::start().expect("a model");
    model.queue(Answer::Stream(vec![Piece::Text("half".into()), Piece::Hold]));
    let mut client = connect(&agent(&model)).await;
    client.start("hi").await;
    let events = client.until("assistant.delta").await;
    client.cancel(turn_of(&events[0])).await;
    assert_eq!(kind(client.until_end().await.last().expect("one")), "turn.cancelled");
    model.wait_abandoned(1, PATIENCE).await.expect("the model notices");
    client.turn("again").await;
    let messages = model.requests()[1].json()["messages"].as_array().map(Vec::len);
    assert_eq!(messages, Some(2), "a cancelled turn leaves nothing behind");
}

#[tokio::test]
async fn a_passing_failure_is_asked_again() {
    let model = Model::start().expect("a model");
    model.queue(Answer::Status { status: 429, body: "{}".into(), retry_after: Some("0".into()) });
    model.queue(Answer::text("after all"));
    let mut client = connect(&agent(&model)).await;
    assert_eq!(answer(&client.turn("hi").await), "after all");
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn a_lasting_failure_is_asked_three_times() {
    let model = Model::start().expect("a model");
    model.otherwise(|_| Answer::Hangup);
    let mut client = connect(&agent(&model)).await;
    let (code, _) = failure(&client.turn("hi").await);
    assert_eq!((code, model.requests().len()), (TurnFailure::ProviderError, 3));
}

#[tokio::test]
async fn nothing_is_asked_again_after_shown_text_or_a_refusal() {
    let model = Model::start().expect("a model");
    model.queue(Answer::Stream(vec![Piece::Text("half".into()), Piece::Cut]));
    let mut client = connect(&agent(&model)).await;
    let events = client.turn("hi").await;
    assert_eq!((shown(&events).as_str(), failure(&events).0), ("half", TurnFailure::ProviderError));
    model.queue(Answer::status(401, format!("{{\"error\":{{\"message\":\"bad key {KEY}\"}}}}")));
    let (_, message) = failure(&client.turn("hi").await);
    assert!(message.contains("401") && message.contains("key"), "{message}");
    assert!(!message.contains(KEY), "{message}");
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn a_rejected_field_is_named() {
    let model = Model::start().expect("a model");
    let body = r#"{"error":{"message":"Unrecognized request argument: stream_options"}}"#;
    model.queue(Answer::status(400, body));
    let mut client = connect(&agent(&model)).await;
    let (_, message) = failure(&client.turn("hi").await);
    assert!(message.contains("omit list"), "{message}");
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let model = Model::start().expect("a model");
    model.queue(Answer::text("late").held());
    let agent = agent_with(&model, |server| {
        server.first_event_timeout = Duration::from_millis(200);
    });
    let mut client = connect(&agent).await;
    let (code, message) = failure(&client.turn("hi").await);
    assert_eq!(code, TurnFailure::ProviderError);
    assert!(message.contains("first_event_timeout_seconds"), "{message}");
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn the_responses_format_is_refused_honestly() {
    let model = Model::start().expect("a model");
    let agent = agent_with(&model, |server| server.wire_api = WireApi::Responses);
    let error = connect_with(&agent, |_| {}).await.err().expect("refused");
    assert_eq!(error.code(), scv_protocol::ErrorCode::Unsupported);
}

#[tokio::test]
async fn a_session_may_choose_its_model_and_server() {
    let model = Model::start().expect("a model");
    let other = Model::start().expect("a model");
    let mut client = connect_with(&agent(&model), |start| {
        start.model = Some("m-2".into());
        start.base_url = Some(other.base_url());
    })
    .await
    .expect("a session");
    client.turn("hi").await;
    assert_eq!(model.requests().len(), 0);
    assert_eq!(other.requests()[0].json()["model"], "m-2");
}
