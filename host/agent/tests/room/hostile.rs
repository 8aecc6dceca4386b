//! Models that break off, never end or say too much: the contract's errors, no call that was not
//! whole, and a session that goes on.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use scv_agent::{
    Agent, AgentConfig,
    config::{OpenAiConfig, ProviderConfig, ProviderKind, WireApi},
};
use scv_protocol::{ServerEvent, TurnFailure};
use scv_simulators::{
    Model,
    model::{Answer, Piece},
};

use crate::client::{PATIENCE, answer, connect, kinds, shown};

const BOTH: [WireApi; 2] = [WireApi::Chat, WireApi::Responses];
/// A clock that must run out, and not before the request has arrived.
const SOON: Duration = Duration::from_secs(3);
/// A clock that must not.
const LATE: Duration = Duration::from_secs(60);

fn agent(model: &Model, wire_api: WireApi, first: Duration, idle: Duration) -> Arc<Agent> {
    let server = OpenAiConfig {
        wire_api,
        base_url: model.base_url(),
        first_event_timeout: first,
        idle_timeout: idle,
        max_retries: 0,
        ..OpenAiConfig::default()
    };
    let kind = ProviderKind::OpenAiCompatible(server);
    let mut config = AgentConfig { active: "test".into(), ..AgentConfig::default() };
    config.providers.insert("test".into(), ProviderConfig { model: "m".into(), kind });
    Agent::new(config).expect("a usable configuration")
}

fn call() -> Piece {
    let (id, name, arguments) = ("c".into(), "list".into(), "{}".into());
    Piece::ToolCall { id, name, arguments }
}

fn failure(events: &[ServerEvent]) -> Option<TurnFailure> {
    match events.last() {
        Some(ServerEvent::TurnFailed { code, .. }) => Some(*code),
        _ => None,
    }
}

/// An answer with a call that stops coming after some of its pieces.
async fn stall(wire_api: WireApi, after: usize) {
    let usage = Piece::Usage { prompt: 1, completion: 1 };
    let mut pieces = vec![Piece::Text("a".into()), call(), Piece::Finish("x"), usage, Piece::Done];
    pieces.insert(after, Piece::Hold);
    // In Chat Completions the finish reason says that the calls are whole; what stalls after it
    // is not waited for long.
    let is_whole = wire_api == WireApi::Chat && after > 2;
    let (first, idle) = match after {
        0 => (SOON, LATE),
        _ if is_whole => (LATE, LATE),
        _ => (LATE, SOON),
    };
    let model = Model::start().expect("a model");
    model.queue(Answer::Stream(pieces));
    let mut client = connect(&agent(&model, wire_api, first, idle)).await;
    let events = client.turn("go").await;
    let has_run = kinds(&events).iter().any(|kind| kind == "tool.proposed");
    let failed = failure(&events);
    let expected = (!is_whole).then_some(TurnFailure::ProviderError);
    assert_eq!((has_run, failed), (is_whole, expected), "{wire_api:?} after {after}");
    model.wait_abandoned(1, PATIENCE).await.expect("the request is given up");
    assert_eq!(model.requests().len(), 1 + usize::from(is_whole));
}

#[tokio::test]
async fn a_stall_at_any_event_runs_out_and_runs_nothing() {
    let stalls: Vec<_> = BOTH
        .into_iter()
        .flat_map(|wire_api| (0..5).map(move |after| tokio::spawn(stall(wire_api, after))))
        .collect();
    for stall in stalls {
        stall.await.expect("as it must be");
    }
}

#[tokio::test]
async fn a_reset_at_any_byte_of_a_stream_is_no_answer() {
    const CHAT: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"}}]}\n\n\
                        data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
                        data: [DONE]\n\n";
    const RESPONSES: &str = "data: {\"type\":\"response.output_text.delta\",\"delta\":\"ok\"}\n\n\
                             data: {\"type\":\"response.completed\",\"response\":{}}\n\n";
    for (wire_api, stream) in [(WireApi::Chat, CHAT), (WireApi::Responses, RESPONSES)] {
        let model = Model::start().expect("a model");
        let mut client = connect(&agent(&model, wire_api, LATE, LATE)).await;
        for end in 0..stream.len() {
            let bytes = Bytes::from_static(&stream.as_bytes()[..end]);
            model.queue(Answer::Stream(vec![Piece::Raw(bytes), Piece::Cut]));
            let events = client.turn("go").await;
            match failure(&events) {
                Some(code) => assert_eq!(code, TurnFailure::ProviderError, "{wire_api:?} {end}"),
                None => assert_eq!((answer(&events).as_str(), &stream[end..]), ("ok", "\n")),
            }
            assert!("ok".starts_with(&shown(&events)), "{wire_api:?} {end}");
        }
        assert_eq!(model.requests().len(), stream.len(), "each was asked for once");
        assert_eq!(answer(&client.turn("again").await), "answer to: again");
    }
}

#[tokio::test]
async fn a_body_that_goes_on_after_its_end_is_not_read() {
    for wire_api in BOTH {
        let model = Model::start().expect("a model");
        let noise = Piece::Raw(Bytes::from(vec![b'x'; 1 << 20]));
        let mut pieces = vec![Piece::Text("ok".into()), Piece::Finish("stop"), Piece::Done];
        pieces.extend(std::iter::repeat_n(noise, 64));
        pieces.push(Piece::Hold);
        model.queue(Answer::Stream(pieces));
        let mut client = connect(&agent(&model, wire_api, LATE, LATE)).await;
        assert_eq!(answer(&client.turn("go").await), "ok");
        model.wait_abandoned(1, PATIENCE).await.expect("the rest is given up");
        assert_eq!(answer(&client.turn("again").await), "answer to: again");
    }
}

#[tokio::test]
async fn too_much_is_stopped_while_it_comes_and_nothing_of_it_runs() {
    let long = "x".repeat(256 * 1024 - 7);
    let arguments = format!("{{\"p\":\"{long}\"}}");
    let big = Piece::ToolCall { id: "d".into(), name: "list".into(), arguments };
    let calls = |count| std::iter::repeat_n(call(), count).enumerate().map(numbered).collect();
    let texts = std::iter::repeat_n(Piece::Text("y".repeat(64 * 1024)), 17);
    let limits: [(Vec<Piece>, TurnFailure); 3] = [
        (calls(33), TurnFailure::ToolLimit),
        (vec![call(), big], TurnFailure::ToolLimit),
        (std::iter::once(call()).chain(texts).collect(), TurnFailure::ResponseLimit),
    ];
    for wire_api in BOTH {
        for (pieces, code) in &limits {
            let model = Model::start().expect("a model");
            let held = pieces.iter().cloned().chain([Piece::Hold]).collect();
            model.queue(Answer::Stream(held));
            let mut client = connect(&agent(&model, wire_api, LATE, LATE)).await;
            let events = client.turn("go").await;
            assert_eq!(failure(&events), Some(*code), "{wire_api:?}");
            assert!(!kinds(&events).iter().any(|kind| kind == "tool.proposed"), "{wire_api:?}");
            model.wait_abandoned(1, PATIENCE).await.expect("the body is given up");
            assert_eq!(answer(&client.turn("again").await), "answer to: again");
            assert_eq!(model.requests().len(), 2);
            assert_eq!(model.violations(), Vec::<String>::new());
        }
    }
}

/// Calls of one response have ids of their own.
fn numbered((number, piece): (usize, Piece)) -> Piece {
    match piece {
        Piece::ToolCall { name, arguments, .. } => {
            Piece::ToolCall { id: format!("c{number}"), name, arguments }
        }
        other => other,
    }
}
