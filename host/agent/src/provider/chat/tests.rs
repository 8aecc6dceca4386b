//! Every case file under every chunking, and the clocks.

mod case;
mod clocks;
mod pairing;

use proptest::{prelude::*, test_runner::TestRunner};

use super::{
    super::retry::Fault,
    decode::{Decoder, End},
    *,
};
use case::{Case, Ending, Outcome, Want};

/// What one request gives, whatever the chunking.
fn decode(case: &Case, chunks: &[&[u8]]) -> (String, Result<Response, Fault>) {
    let mut decoder = Decoder::new(true);
    let mut shown = String::new();
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

fn check(case: &Case, chunks: &[&[u8]], how: &str) {
    let (shown, result) = decode(case, chunks);
    let outcome = Outcome { requests: requests(&result, &shown), shown, result };
    if let Err(reason) = case.want.check(&outcome) {
        panic!("{} {how}: {reason}\nwant {:?}\ngot  {outcome:?}", case.name, case.want);
    }
}

#[test]
fn all_cases_whole_by_line_and_by_byte() {
    let cases = case::all();
    assert!(cases.len() > 40, "the case files are found");
    for case in &cases {
        check(case, &[&case.body], "whole");
        let lines: Vec<_> = case.body.split_inclusive(|byte| *byte == b'\n').collect();
        check(case, &lines, "by line");
        let bytes: Vec<_> = case.body.chunks(1).collect();
        check(case, &bytes, "by byte");
    }
}

#[test]
fn all_cases_in_random_pieces() {
    for case in case::all().iter().filter(|case| case.body.len() < 10_000) {
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
            check(case, &chunks, "in pieces");
            Ok(())
        });
        run.unwrap_or_else(|error| panic!("{}: {error}", case.name));
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
            message: crate::message::AssistantMessage { text: text.into(), ..Default::default() },
            usage: None,
        }),
    };
    assert!(want.check(&outcome("a")).is_ok());
    assert!(want.check(&outcome("b")).is_err());
}
