//! A model server on loopback, in both wire formats.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use scv_agent::{
    Agent, AgentConfig, Secret,
    config::{OpenAiConfig, ProviderConfig, ProviderKind, WireApi},
};
use scv_protocol::{ServerEvent, TurnFailure};
use scv_simulators::{
    Model, Request,
    model::{Answer, Piece},
};
use serde_json::{Value, json};

use crate::client::{
    PATIENCE, answer, approval_of, connect, connect_with, kind, outputs, shown, turn_of,
};

const KEY: &str = "sk-test-0123456789";

const BOTH: [WireApi; 2] = [WireApi::Chat, WireApi::Responses];

fn agent(model: &Model, wire_api: WireApi) -> Arc<Agent> {
    agent_with(model, |server| server.wire_api = wire_api)
}

fn agent_with(model: &Model, change: impl FnOnce(&mut OpenAiConfig)) -> Arc<Agent> {
    let mut server = OpenAiConfig {
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

/// What a request says, without what the system says.
fn said(request: &Request, wire_api: WireApi) -> Vec<Value> {
    let body = request.json();
    let (all, system) = match wire_api {
        WireApi::Chat => (&body["messages"], 1),
        WireApi::Responses => (&body["input"], 0),
    };
    all.as_array().expect("a list")[system..].to_vec()
}

fn roles(request: &Request, wire_api: WireApi) -> Vec<String> {
    let said = said(request, wire_api);
    said.iter().map(|item| item["role"].as_str().unwrap_or_default().to_owned()).collect()
}

fn failure(events: &[ServerEvent]) -> (TurnFailure, String) {
    match events.last() {
        Some(ServerEvent::TurnFailed { code, message, .. }) => (*code, message.clone()),
        other => panic!("a failed turn, not {other:?}"),
    }
}

#[tokio::test]
async fn a_streamed_answer_arrives_and_is_remembered() {
    for wire_api in BOTH {
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
        let mut client = connect(&agent(&model, wire_api)).await;
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
        assert_eq!(roles(&requests[1], wire_api), ["user", "assistant", "user"]);
        assert_eq!(requests[1].json()["model"], "m-1");
        assert_eq!(model.violations(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_tool_call_runs_and_its_output_goes_back() {
    for wire_api in BOTH {
        let model = Model::start().expect("a model");
        let call = Answer::tool_call("c1", "bash", &json!({"command": "echo from the tool"}));
        model.on("do it", [call, Answer::text("done")]);
        let mut client = connect(&agent(&model, wire_api)).await;
        client.start("do it").await;
        let events = client.until("approval.requested").await;
        client.resolve(approval_of(events.last().expect("it")), true).await;
        let events = client.until_end().await;
        assert_eq!(outputs(&events), [("from the tool\n".to_owned(), true)]);
        assert_eq!(answer(&events), "done");
        let said = said(&model.requests()[1], wire_api);
        let last = said.last().expect("a message");
        let (id, text) = match wire_api {
            WireApi::Chat => (&last["tool_call_id"], &last["content"]),
            WireApi::Responses => (&last["call_id"], &last["output"]),
        };
        assert_eq!((id, text), (&json!("c1"), &json!("from the tool\n")));
        assert_eq!(model.violations(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn without_tools_none_is_offered_and_no_folder_named() {
    for wire_api in BOTH {
        let model = Model::start().expect("a model");
        let mut client = connect_with(&agent(&model, wire_api), |start| start.no_tools = true)
            .await
            .expect("a session");
        client.turn("hi").await;
        let body = model.requests()[0].json();
        assert_eq!(body.get("tools"), None);
        let folder = client.folder.path().to_string_lossy().into_owned();
        assert!(!body.to_string().contains(&folder));
    }
}

#[tokio::test]
async fn cancel_drops_the_request() {
    for wire_api in BOTH {
        let model = Model::start().expect("a model");
        model.queue(Answer::Stream(vec![Piece::Text("half".into()), Piece::Hold]));
        let mut client = connect(&agent(&model, wire_api)).await;
        client.start("hi").await;
        let events = client.until("assistant.delta").await;
        client.cancel(turn_of(&events[0])).await;
        assert_eq!(kind(client.until_end().await.last().expect("one")), "turn.cancelled");
        model.wait_abandoned(1, PATIENCE).await.expect("the model notices");
        client.turn("again").await;
        let messages = roles(&model.requests()[1], wire_api);
        assert_eq!(messages, ["user"], "a cancelled turn leaves nothing behind");
    }
}

#[tokio::test]
async fn a_passing_failure_is_asked_again() {
    for wire_api in BOTH {
        let model = Model::start().expect("a model");
        model.queue(Answer::Status {
            status: 429,
            body: "{}".into(),
            retry_after: Some("0".into()),
        });
        model.queue(Answer::text("after all"));
        let mut client = connect(&agent(&model, wire_api)).await;
        assert_eq!(answer(&client.turn("hi").await), "after all");
        assert_eq!(model.requests().len(), 2);
    }
}

#[tokio::test]
async fn a_lasting_failure_is_asked_three_times() {
    for wire_api in BOTH {
        let model = Model::start().expect("a model");
        model.otherwise(|_| Answer::Hangup);
        let mut client = connect(&agent(&model, wire_api)).await;
        let (code, _) = failure(&client.turn("hi").await);
        assert_eq!((code, model.requests().len()), (TurnFailure::ProviderError, 3));
    }
}

#[tokio::test]
async fn nothing_is_asked_again_after_shown_text_or_a_refusal() {
    for wire_api in BOTH {
        let model = Model::start().expect("a model");
        model.queue(Answer::Stream(vec![Piece::Text("half".into()), Piece::Cut]));
        let mut client = connect(&agent(&model, wire_api)).await;
        let events = client.turn("hi").await;
        assert_eq!(
            (shown(&events).as_str(), failure(&events).0),
            ("half", TurnFailure::ProviderError)
        );
        model
            .queue(Answer::status(401, format!("{{\"error\":{{\"message\":\"bad key {KEY}\"}}}}")));
        let (_, message) = failure(&client.turn("hi").await);
        assert!(message.contains("401") && message.contains("key"), "{message}");
        assert!(!message.contains(KEY), "{message}");
        assert_eq!(model.requests().len(), 2);
    }
}

#[tokio::test]
async fn a_rejected_field_is_named() {
    for wire_api in BOTH {
        let model = Model::start().expect("a model");
        let body = r#"{"error":{"message":"Unrecognized request argument: stream_options"}}"#;
        model.queue(Answer::status(400, body));
        let mut client = connect(&agent(&model, wire_api)).await;
        let (_, message) = failure(&client.turn("hi").await);
        assert!(message.contains("omit list"), "{message}");
    }
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    for wire_api in BOTH {
        let model = Model::start().expect("a model");
        model.queue(Answer::text("late").held());
        let agent = agent_with(&model, |server| {
            server.wire_api = wire_api;
            // Long enough for the request to arrive on a busy machine.
            server.first_event_timeout = Duration::from_secs(3);
        });
        let mut client = connect(&agent).await;
        let (code, message) = failure(&client.turn("hi").await);
        assert_eq!(code, TurnFailure::ProviderError);
        assert!(message.contains("first_event_timeout_seconds"), "{message}");
        assert_eq!(model.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_session_may_choose_its_model_and_server() {
    for wire_api in BOTH {
        let model = Model::start().expect("a model");
        let other = Model::start().expect("a model");
        let mut client = connect_with(&agent(&model, wire_api), |start| {
            start.model = Some("m-2".into());
            start.base_url = Some(other.base_url());
        })
        .await
        .expect("a session");
        client.turn("hi").await;
        assert_eq!(model.requests().len(), 0);
        assert_eq!(other.requests()[0].json()["model"], "m-2");
    }
}

#[tokio::test]
async fn a_refusal_in_the_other_format_names_the_fix() {
    let model = Model::start().expect("a model");
    model.queue(Answer::status(404, r#"{"error":{"message":"no such path"}}"#));
    let mut client = connect(&agent(&model, WireApi::Responses)).await;
    let (_, message) = failure(&client.turn("hi").await);
    assert!(message.contains("wire_api = \"chat\""), "{message}");
}

/// The delay that a server asks for is kept, wherever it says so; without it a second passes.
#[tokio::test]
async fn a_hint_in_the_body_says_when_to_ask_again() {
    let model = Model::start().expect("a model");
    let body = r#"{"error":{"message":"Too many. Please try again in 20ms."}}"#;
    for status in [408, 409, 425, 429, 499, 500, 502, 503, 504, 529] {
        model.queue(Answer::status(status, body));
        model.queue(Answer::text("after all"));
    }
    let mut client = connect(&agent(&model, WireApi::Responses)).await;
    let begun = Instant::now();
    for _ in 0..10 {
        assert_eq!(answer(&client.turn("hi").await), "after all");
    }
    assert_eq!(model.requests().len(), 20);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

/// A kept connection that turns out to be dead is no failure of the provider's.
#[tokio::test]
async fn a_dead_kept_connection_costs_no_retry() {
    for wire_api in BOTH {
        let model = Model::start().expect("a model");
        let agent = agent_with(&model, |server| {
            server.wire_api = wire_api;
            server.max_retries = 0;
        });
        model.queue(Answer::text("first"));
        model.queue(Answer::Hangup);
        let mut client = connect(&agent).await;
        assert_eq!(answer(&client.turn("hi").await), "first");
        assert_eq!(answer(&client.turn("again").await), "answer to: again");
        assert_eq!(model.requests().len(), 3);
    }
}
