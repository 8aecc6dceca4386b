//! The model server as a provider meets it.

mod support;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use scv_simulators::model::{Answer, Model, Piece};
use serde_json::{Value, json};
use support::{Client, LONG};

fn ask(model: &Model, messages: Value) -> http::Request<Full<Bytes>> {
    let body = json!({"model": "m", "stream": true, "messages": messages,
        "stream_options": {"include_usage": true}});
    http::Request::post(format!("{}/chat/completions", model.base_url()))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body.to_string())))
        .expect("a request")
}

fn ask_responses(model: &Model, input: Value) -> http::Request<Full<Bytes>> {
    let body = json!({"model": "m", "stream": true, "instructions": "x", "input": input});
    http::Request::post(format!("{}/responses", model.base_url()))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body.to_string())))
        .expect("a request")
}

fn user(text: &str) -> Value {
    json!([{"role": "user", "content": text}])
}

/// The JSON of each event; `[DONE]` as a text.
fn events(stream: &str) -> Vec<Value> {
    let data = stream.split_terminator("\n\n").map(|event| &event["data: ".len()..]);
    data.map(|data| serde_json::from_str(data).unwrap_or_else(|_| json!(data))).collect()
}

#[tokio::test]
async fn the_usual_answer_is_a_proper_stream() {
    let model = Model::start().expect("a port");
    let (status, stream) = Client::new().text(ask(&model, user("hi"))).await.expect("an answer");
    let events = events(&stream);
    assert_eq!(status, 200);
    assert_eq!(events[0]["choices"][0]["delta"]["content"], "answer to: hi");
    assert_eq!(events[1]["choices"][0]["finish_reason"], "stop");
    assert_eq!(events[2]["usage"]["total_tokens"], 15);
    assert_eq!(events[3], "[DONE]");
    assert_eq!(model.prompts(), ["hi"]);
    assert_eq!(model.turns("hi"), 1);
    assert_eq!(model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_tool_turn_takes_two_requests_and_is_one_turn() {
    let model = Model::start().expect("a port");
    model.on("list", [Answer::tool_call("c1", "bash", &json!({"command": "ls"}))]);
    let client = Client::new();
    let (_, stream) = client.text(ask(&model, user("list it"))).await.expect("an answer");
    let call = &events(&stream)[0]["choices"][0]["delta"]["tool_calls"][0];
    assert_eq!(call["function"]["arguments"], r#"{"command":"ls"}"#);
    let history = json!([
        {"role": "user", "content": "list it"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
    ]);
    let (_, stream) = client.text(ask(&model, history)).await.expect("an answer");
    assert!(stream.contains("the tool said: a.txt"));
    assert_eq!((model.turns("list it"), model.requests().len()), (1, 2));
    assert_eq!(model.violations(), [""; 0]);
}

#[tokio::test]
async fn the_same_script_speaks_the_other_format() {
    let model = Model::start().expect("a port");
    let call = Answer::tool_call("c1", "bash", &json!({"command": "ls"}));
    model.on("list", [call, Answer::text("done")]);
    let client = Client::new();
    let ask = |input| client.text(ask_responses(&model, input));
    let events = |stream: &str| -> Vec<Value> {
        let lines = stream.lines().filter_map(|line| line.strip_prefix("data: "));
        lines.map(|data| serde_json::from_str(data).expect("JSON")).collect()
    };
    let (_, stream) = ask(user("list it")).await.expect("an answer");
    let first = events(&stream);
    let item = &first[3]["item"];
    assert_eq!(item["arguments"], r#"{"command":"ls"}"#);
    let last = first.last().expect("an event");
    assert_eq!(
        (&last["type"], &last["response"]["usage"]["total_tokens"]),
        (&json!("response.completed"), &json!(15))
    );
    let history = json!([
        {"type": "message", "role": "user", "content": "list it"},
        item,
        {"type": "function_call_output", "call_id": "c1", "output": "a.txt"},
    ]);
    let (_, stream) = ask(history).await.expect("an answer");
    let second = events(&stream);
    let kinds: Vec<_> = second.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(
        kinds,
        [
            "response.created",
            "response.output_item.added",
            "response.output_text.delta",
            "response.output_item.done",
            "response.completed"
        ]
    );
    assert_eq!((model.turns("list it"), model.violations()), (1, Vec::new()));
}

#[tokio::test]
async fn a_held_answer_waits_for_its_release() {
    let model = Model::start().expect("a port");
    model.queue(Answer::text("late").held());
    let client = Client::new();
    let release = async {
        model.wait_holding(1, LONG).await.expect("held");
        model.release();
    };
    let (answer, ()) = tokio::join!(client.text(ask(&model, user("x"))), release);
    assert!(answer.expect("an answer").1.contains("late"));
    assert_eq!(model.abandoned(), 0);
}

#[tokio::test]
async fn a_reader_that_leaves_is_noticed() {
    let model = Model::start().expect("a port");
    model.queue(Answer::Stream(vec![Piece::Text("a".into()), Piece::Hold]));
    let response = Client::new().send(ask(&model, user("x"))).await.expect("a head");
    model.wait_holding(1, LONG).await.expect("held");
    drop(response);
    model.wait_abandoned(1, LONG).await.expect("noticed");
}

#[tokio::test]
async fn oddities_come_as_written() {
    let model = Model::start().expect("a port");
    let client = Client::new();
    model.queue(Answer::status(429, "slow down"));
    model.queue(Answer::Hangup);
    model.queue(Answer::raw([&b"data: {\"a\""[..], b":1}\r\n\r\n"]));
    model.queue(Answer::Stream(vec![Piece::Text("half".into()), Piece::Cut]));
    let answer = client.text(ask(&model, user("x"))).await;
    assert_eq!(answer, Some((429, "slow down".to_owned())));
    assert_eq!(client.text(ask(&model, user("x"))).await, None);
    let answer = client.text(ask(&model, user("x"))).await;
    assert_eq!(answer, Some((200, "data: {\"a\":1}\r\n\r\n".to_owned())));
    let cut = client.send(ask(&model, user("x"))).await.expect("a head");
    assert!(cut.into_body().collect().await.is_err());
}

#[tokio::test]
async fn a_closure_answers_the_rest() {
    let model = Model::start().expect("a port");
    model.otherwise(|body| {
        Answer::text(format!("{} messages", body["messages"].as_array().map_or(0, Vec::len)))
    });
    let (_, stream) = Client::new().text(ask(&model, user("x"))).await.expect("an answer");
    assert!(stream.contains("1 messages"));
}
