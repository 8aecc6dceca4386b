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
    pub(super) asked: Vec<Asked>,
    pub(super) violations: Vec<String>,
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
    /// Takes a request and chooses its answer.
    pub(super) fn arrive(&mut self, dialect: Dialect, request: Request) -> (Asked, Answer) {
        let body = request.json();
        let asked = dialect.asked(&body);
        self.violations.extend(dialect.faults(&request, &body));
        self.requests.push(request);
        self.asked.push(asked.clone());
        let answer = self.choose(&asked, &body);
        (asked, answer)
    }

    /// How many turns began with exactly this prompt.
    pub(super) fn turns(&self, prompt: &str) -> usize {
        let begins = |asked: &&Asked| asked.tool_result.is_none() && asked.prompt == prompt;
        self.asked.iter().filter(begins).count()
    }

    fn choose(&mut self, asked: &Asked, body: &Value) -> Answer {
        if let Some(answer) = self.queue.pop_front() {
            return answer;
        }
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
