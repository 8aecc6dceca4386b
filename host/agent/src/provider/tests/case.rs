//! What a case wants against what came out.

use super::{Fault, Response, reader::Want};

#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) shown: String,
    pub(super) requests: u32,
    pub(super) result: Result<Response, Fault>,
}

impl Want {
    pub(super) fn check(&self, outcome: &Outcome) -> Result<(), String> {
        let same =
            |what: &str, same: bool| if same { Ok(()) } else { Err(format!("{what} differs")) };
        same("the number of requests", outcome.requests == self.requests())?;
        same("the shown text", outcome.shown == self.shown())?;
        match (&outcome.result, &self.failed) {
            (Ok(response), None) => self.check_response(response),
            (Err(fault), Some(code)) => {
                let failure = &fault.failure;
                let got = serde_json::to_value(failure.code).expect("JSON");
                same("the code", got == code.as_str())?;
                let says = self.says.as_deref().unwrap_or_default();
                same("the failure's text", failure.message.contains(says))
            }
            _ => Err("success or failure differs".to_owned()),
        }
    }

    fn check_response(&self, response: &Response) -> Result<(), String> {
        let same =
            |what: &str, same: bool| if same { Ok(()) } else { Err(format!("{what} differs")) };
        let message = &response.message;
        same("the message", *message.text == *self.text.as_deref().unwrap_or_default())?;
        same("the reasoning", message.reasoning == self.reasoning)?;
        let usage = response.usage.map(|usage| [usage.input_tokens, usage.output_tokens]);
        same("the usage", usage == self.usage)?;
        same("the number of calls", message.calls.len() == self.calls.len())?;
        for (call, [id, name, arguments]) in message.calls.iter().zip(&self.calls) {
            let made_up = call.id.len() == 9 && call.id.bytes().all(|b| b.is_ascii_alphanumeric());
            same("a call's id", if id == "*" { made_up } else { call.id == *id })?;
            same("a call's name", call.name == *name)?;
            same("a call's arguments", call.arguments == *arguments)?;
        }
        Ok(())
    }
}
