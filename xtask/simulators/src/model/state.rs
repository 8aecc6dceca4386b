//! Which answer belongs to which request.

use std::collections::VecDeque;

use serde_json::Value;

use super::answer::Answer;
use super::dialect::{Asked, Dialect};
use crate::request::Request;

/// Answers by itself what no script answers.
pub(super) type Fallback = Box<dyn Fn(&Value) -> Answer + Send>;

#[derive(Default)]
pub(super) struct State {
    pub(super) requests: Vec<Request>,
    /// Answers for the next requests, whatever they ask.
    pub(super) queue: VecDeque<Answer>,
    /// Answers for requests whose prompt contains a text.
    pub(super) rules: Vec<(String, VecDeque<Answer>)>,
    pub(super) fallback: Option<Fallback>,
    /// Streams whose reader went away before their end.
    pub(super) abandoned: usize,
    /// Streams that stand at a hold at this moment.
    pub(super) holding: usize,
}

impl State {
    /// Takes a request and chooses its answer. An answer from the queue costs no look at what was
    /// asked: it is for measurements, too.
    pub(super) fn arrive(&mut self, dialect: Dialect, request: Request) -> Answer {
        let answer = self.queue.pop_front().unwrap_or_else(|| {
            let body = request.json();
            self.choose(&dialect.asked(&body), &body)
        });
        self.requests.push(request);
        answer
    }

    /// What each request asked, in order.
    pub(super) fn asked(&self) -> impl Iterator<Item = Asked> {
        let known = |request: &Request| Some(Dialect::of(request)?.asked(&request.json()));
        self.requests.iter().filter_map(known)
    }

    /// What strict servers would have refused.
    pub(super) fn violations(&self) -> Vec<String> {
        let faults = |request: &Request| match Dialect::of(request) {
            Some(dialect) => dialect.faults(request, &request.json()),
            None => vec!["an unknown path was called".to_owned()],
        };
        self.requests.iter().flat_map(faults).collect()
    }

    /// How many turns began with exactly this prompt.
    pub(super) fn turns(&self, prompt: &str) -> usize {
        self.asked().filter(|asked| asked.tool_result.is_none() && asked.prompt == prompt).count()
    }

    fn choose(&mut self, asked: &Asked, body: &Value) -> Answer {
        let matching = self.rules.iter_mut().filter(|(text, _)| asked.prompt.contains(text));
        if let Some(answer) = matching.filter_map(|(_, answers)| answers.pop_front()).next() {
            return answer;
        }
        match (&self.fallback, &asked.tool_result) {
            (Some(fallback), _) => fallback(body),
            (None, Some(result)) => Answer::text(format!("the tool said: {result}")),
            (None, None) => Answer::text(format!("answer to: {}", asked.prompt)),
        }
    }
}
