//! Every case file under every chunking, and the clocks.

mod case;
mod clocks;
mod pairing;
#[path = "../../../tests/cases/reader.rs"]
mod reader;

use proptest::{prelude::*, test_runner::TestRunner};

use super::{
    Response,
    decode::{Decoder, End},
    fault::Fault,
};
use crate::config::WireApi;
use case::Outcome;
use reader::{Case, Ending, Want};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
const BOTH: [WireApi; 2] = [WireApi::Chat, WireApi::Responses];

/// What one request gives, whatever the chunking.
fn decode(case: &Case, chunks: &[&[u8]]) -> (Vec<String>, Result<Response, Fault>) {
    let mut decoder = Decoder::new(case.wire_api, true);
    let mut shown = Vec::new();
    let mut take = |decoder: &mut Decoder| shown.extend(decoder.take_deltas());
    for chunk in chunks {
        let progress = decoder.push(chunk);
        take(&mut decoder);
        match progress {
            Ok(progress) if progress.done => {
                let result = decoder.finish(End::Clean);
                take(&mut decoder);
                return (shown, result);
            }
            Ok(_) => {}
            Err(fault) => return (shown, Err(fault)),
        }
    }
    let end = match case.ending {
        Ending::Clean => End::Clean,
        Ending::Broken => End::Broken,
        Ending::Open => panic!("{}: the answer should not wait for the end", case.name),
    };
    let result = decoder.finish(end);
    take(&mut decoder);
    (shown, result)
}

/// As the retry loop goes when each request gets the same body.
fn requests(result: &Result<Response, Fault>, shown: &str) -> u32 {
    let mut retries = 0;
    if let Err(fault) = result {
        while fault.wants_retry(retries, 2, !shown.is_empty()).is_some() {
            retries += 1;
        }
    }
    retries + 1
}

fn outcome(deltas: &[String], result: Result<Response, Fault>) -> Outcome {
    let shown = deltas.concat();
    Outcome { requests: requests(&result, &shown), shown, result }
}

/// Reads the body whole; the deltas must be these however it is cut.
fn check_whole(case: &Case) -> Vec<String> {
    let (deltas, result) = decode(case, &[&case.body]);
    check_outcome(case, &outcome(&deltas, result), "whole");
    deltas
}

fn check(case: &Case, want: &[String], chunks: &[&[u8]], how: &str) {
    let (deltas, result) = decode(case, chunks);
    check_outcome(case, &outcome(&deltas, result), how);
    assert_eq!(deltas, want, "{} {how}: other deltas", case.name);
}

fn check_outcome(case: &Case, outcome: &Outcome, how: &str) {
    if let Err(reason) = case.want.check(outcome) {
        let Case { name, wire_api, want, .. } = case;
        panic!("{wire_api:?} {name} {how}: {reason}\nwant {want:?}\ngot  {outcome:?}");
    }
}

#[test]
fn all_cases_whole_by_line_and_by_byte() {
    for wire_api in BOTH {
        let cases = reader::all(CASES, wire_api);
        assert!(cases.len() > 40, "the case files of {wire_api:?} are found");
        for case in &cases {
            let deltas = check_whole(case);
            let lines: Vec<_> = case.body.split_inclusive(|byte| *byte == b'\n').collect();
            check(case, &deltas, &lines, "by line");
            let bytes: Vec<_> = case.body.chunks(1).collect();
            check(case, &deltas, &bytes, "by byte");
        }
    }
}

#[test]
fn all_cases_in_random_pieces() {
    let cases = BOTH.into_iter().flat_map(|wire_api| reader::all(CASES, wire_api));
    for case in cases.filter(|case| case.body.len() < 10_000) {
        let deltas = check_whole(&case);
        let cuts = prop::collection::vec(1_usize..40, 1..20);
        let config =
            ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() };
        let run = TestRunner::new(config).run(&cuts, |cuts| {
            let (mut rest, mut chunks) = (case.body.as_slice(), Vec::new());
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (chunk, after) = rest.split_at(rest.len().min(*cut));
                chunks.push(chunk);
                rest = after;
            }
            check(&case, &deltas, &chunks, "in pieces");
            Ok(())
        });
        run.unwrap_or_else(|error| panic!("{}: {error}", case.name));
    }
}

/// A stream that breaks anywhere fails, and is asked again only while nothing of it was shown.
#[test]
fn a_reset_at_any_byte_is_no_answer() {
    for case in BOTH.into_iter().flat_map(|wire_api| reader::all(CASES, wire_api)) {
        let is_whole = case.want.failed.is_none() && case.body.len() < 2_000;
        for end in 0..if is_whole { case.body.len() } else { 0 } {
            let cut =
                Case { body: case.body[..end].to_vec(), ending: Ending::Broken, ..case.clone() };
            let (deltas, result) = decode(&cut, &[&cut.body]);
            let outcome = outcome(&deltas, result);
            match outcome.result {
                Ok(_) => assert!(case.want.check(&outcome).is_ok(), "{} {end}", case.name),
                Err(_) => assert_eq!(outcome.requests, if deltas.is_empty() { 3 } else { 1 }),
            }
        }
    }
}

/// A failure is never silent about itself, and a want of nothing checks nothing.
#[test]
fn a_wrong_answer_is_noticed() {
    let want: Want = serde_json::from_str(r#"{"text":"a"}"#).expect("a want");
    let outcome = |text: &str| Outcome {
        shown: text.to_owned(),
        requests: 1,
        result: Ok(Response {
            message: crate::message::AssistantMessage {
                text: text.to_owned().into(),
                ..Default::default()
            },
            usage: None,
        }),
    };
    assert!(want.check(&outcome("a")).is_ok());
    assert!(want.check(&outcome("b")).is_err());
}
