//! Every case file as the answer to a real request, each as often as it is asked for.

#[path = "../cases/reader.rs"]
mod reader;

use std::sync::Arc;

use bytes::Bytes;
use scv_agent::{
    Agent, AgentConfig,
    config::{OpenAiConfig, ProviderConfig, ProviderKind, WireApi},
};
use scv_protocol::ServerEvent;
use scv_simulators::{
    Model,
    model::{Answer, Piece},
};

use crate::client::{connect_with, shown};
use reader::{Case, Ending};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
/// More often than scv may ask.
const TOO_OFTEN: usize = 5;

fn agent(model: &Model, wire_api: WireApi) -> Arc<Agent> {
    let server = OpenAiConfig { wire_api, base_url: model.base_url(), ..OpenAiConfig::default() };
    let kind = ProviderKind::OpenAiCompatible(server);
    let mut config = AgentConfig { active: "test".into(), ..AgentConfig::default() };
    config.providers.insert("test".into(), ProviderConfig { model: "m".into(), kind });
    Agent::new(config).expect("a usable configuration")
}

fn answer(case: &Case) -> Answer {
    let mut pieces = vec![Piece::Raw(Bytes::from(case.body.clone()))];
    match case.ending {
        Ending::Clean => {}
        Ending::Broken => pieces.push(Piece::Cut),
        Ending::Open => pieces.push(Piece::Hold),
    }
    Answer::Stream(pieces)
}

/// The events up to the first of a call or of the end: calls of the cases are not for running.
async fn ask(agent: Arc<Agent>, prompt: String) -> Vec<ServerEvent> {
    let mut client = connect_with(&agent, |_| {}).await.expect("a session");
    client.start(&prompt).await;
    let mut events = vec![client.next().await];
    while !events.last().is_some_and(|event| {
        event.is_terminal() || matches!(event, ServerEvent::ToolProposed { .. })
    }) {
        events.push(client.next().await);
    }
    client.close().await;
    events
}

fn check(case: &Case, events: &[ServerEvent]) {
    let name = &case.name;
    assert_eq!(shown(events), case.want.shown(), "{name}");
    match events.last() {
        Some(ServerEvent::TurnFailed { code, message, .. }) => {
            let code = serde_json::to_value(code).expect("JSON");
            assert_eq!(code.as_str(), case.want.failed.as_deref(), "{name}");
            let says = case.want.says.as_deref().unwrap_or_default();
            assert!(message.contains(says), "{name}: {message}");
        }
        Some(ServerEvent::TurnCompleted { usage, .. }) => {
            assert_eq!((&case.want.failed, case.want.calls.len()), (&None, 0), "{name}");
            let usage = usage.map(|usage| [usage.input_tokens, usage.output_tokens]);
            assert_eq!(usage, case.want.usage, "{name}");
        }
        Some(ServerEvent::ToolProposed { name: tool, .. }) => {
            assert_eq!(case.want.calls.first().map(|call| &call[1]), Some(tool), "{name}");
        }
        other => panic!("{name}: {other:?}"),
    }
}

#[tokio::test]
async fn every_case_is_asked_for_as_often_as_it_says() {
    for wire_api in [WireApi::Chat, WireApi::Responses] {
        let model = Model::start().expect("a model");
        let agent = agent(&model, wire_api);
        let mut turns = Vec::new();
        for case in reader::all(CASES, wire_api) {
            let prompt = format!("<{}>", case.name);
            model.on(prompt.as_str(), std::iter::repeat_n(answer(&case), TOO_OFTEN));
            turns.push((case, tokio::spawn(ask(Arc::clone(&agent), prompt))));
        }
        for (case, turn) in turns {
            check(&case, &turn.await.expect("no panic"));
            let requests = model.turns(&format!("<{}>", case.name));
            assert_eq!(requests, case.want.requests() as usize, "{}", case.name);
        }
    }
}
