//! What a message means at the stage its connection has reached. Pure.

use scv_protocol::{ClientMessage, DecodeError, ErrorCode, ServerEvent, SessionStart};

use super::commands::Command;

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing was said yet.
    New,
    /// Initialized at this version.
    Ready {
        /// 2 or 3.
        version: u32,
    },
    /// Its one session is open.
    Session {
        /// 2 or 3.
        version: u32,
    },
}

/// What to do about a message.
#[derive(Debug, PartialEq)]
pub(super) enum Action {
    /// Answer, and go on.
    Answer(ServerEvent),
    /// Answer, and close.
    Close(ServerEvent),
    /// Answer `initialized` at this version.
    Greet { request_id: String, version: u32 },
    /// Manage the daemon.
    Control(Command),
    /// Open the session.
    Start { start: SessionStart, version: u32 },
    /// Hand it to the session.
    Submit(ClientMessage),
}

impl Stage {
    /// Decides what a message means here.
    pub(super) fn action(self, message: ClientMessage) -> Action {
        match (self, message) {
            (Self::New, message) => greet(message),
            (_, ClientMessage::Initialize { request_id, .. }) => {
                refuse(request_id, ErrorCode::InvalidRequest, INITIALIZED_ALREADY)
            }
            (_, ClientMessage::SessionAttach { request_id }) => refuse(
                request_id,
                ErrorCode::Unsupported,
                "sessions cannot be attached to; start a new one",
            ),
            (
                Self::Ready { version } | Self::Session { version },
                ClientMessage::DaemonControl { request_id, command },
            ) => Action::Control(Command { request_id, command, version }),
            (Self::Ready { version }, ClientMessage::SessionStart(start)) => {
                Action::Start { start, version }
            }
            (Self::Session { .. }, ClientMessage::SessionStart(start)) => refuse(
                start.request_id,
                ErrorCode::InvalidRequest,
                "this connection has its session; open another connection for another one",
            ),
            (Self::Ready { .. }, message) => refuse(
                message.request_id().to_owned(),
                ErrorCode::SessionNotFound,
                "this connection has no session; send session.start first",
            ),
            (Self::Session { .. }, message) => Action::Submit(message),
        }
    }

    /// Decides what a line means here that is no message.
    pub(super) fn fault(self, error: DecodeError) -> Action {
        let DecodeError { code, request_id, message } = error;
        match (self, code) {
            (Self::New, ErrorCode::VersionMismatch) => {
                Action::Close(fatal(request_id, code, message))
            }
            (_, ErrorCode::VersionMismatch) => Action::Answer(ServerEvent::error(
                request_id,
                ErrorCode::InvalidRequest,
                INITIALIZED_ALREADY,
            )),
            _ => Action::Answer(ServerEvent::error(request_id, code, message)),
        }
    }
}

const INITIALIZED_ALREADY: &str =
    "this connection is initialized already; open another one to initialize again";

fn greet(message: ClientMessage) -> Action {
    let ClientMessage::Initialize { request_id, protocol_version, .. } = message else {
        return refuse(
            message.request_id().to_owned(),
            ErrorCode::NotInitialized,
            "this connection is not initialized; send initialize first",
        );
    };
    Action::Greet { request_id, version: protocol_version }
}

/// An error after which the connection closes.
pub(super) fn fatal(
    request_id: Option<String>,
    code: ErrorCode,
    message: impl Into<String>,
) -> ServerEvent {
    ServerEvent::Error { request_id, code, message: message.into(), fatal: true, entry: None }
}

fn refuse(request_id: String, code: ErrorCode, message: &str) -> Action {
    Action::Answer(ServerEvent::error(Some(request_id), code, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAGES: [Stage; 3] =
        [Stage::New, Stage::Ready { version: 2 }, Stage::Session { version: 3 }];

    fn message(json: &str) -> ClientMessage {
        ClientMessage::decode(json.as_bytes()).unwrap()
    }

    fn code_of(action: Action) -> Option<ErrorCode> {
        match action {
            Action::Answer(ServerEvent::Error { code, .. })
            | Action::Close(ServerEvent::Error { code, .. }) => Some(code),
            _ => None,
        }
    }

    fn codes(json: &str) -> [Option<ErrorCode>; 3] {
        STAGES.map(|stage| code_of(stage.action(message(json))))
    }

    #[test]
    fn each_message_at_each_stage() {
        use ErrorCode::{InvalidRequest, NotInitialized, SessionNotFound, Unsupported};
        let before = Some(NotInitialized);
        let hello = r#"{"type":"initialize","request_id":"1","protocol_version":2,"client":{"name":"t","version":"0"}}"#;
        assert_eq!(codes(hello), [None, Some(InvalidRequest), Some(InvalidRequest)]);
        let start = r#"{"type":"session.start","request_id":"1","cwd":"/"}"#;
        assert_eq!(codes(start), [before, None, Some(InvalidRequest)]);
        let attach = r#"{"type":"session.attach","request_id":"1"}"#;
        assert_eq!(codes(attach), [before, Some(Unsupported), Some(Unsupported)]);
        let turn = r#"{"type":"turn.start","request_id":"1","session_id":"s","prompt":"p"}"#;
        assert_eq!(codes(turn), [before, Some(SessionNotFound), None]);
        let status = r#"{"type":"daemon.control","request_id":"1","command":{"action":"status"}}"#;
        assert_eq!(codes(status), [before, None, None]);
    }

    #[test]
    fn only_another_version_closes_and_only_before_the_greeting() {
        let fault = |stage: Stage, code| {
            let request_id = Some("1".to_owned());
            stage.fault(DecodeError { code, request_id, message: "wrong".into() })
        };
        let Action::Close(ServerEvent::Error { code, fatal, .. }) =
            fault(Stage::New, ErrorCode::VersionMismatch)
        else {
            panic!("another version must close");
        };
        assert_eq!((code, fatal), (ErrorCode::VersionMismatch, true));
        for stage in STAGES {
            for told in [ErrorCode::InvalidJson, ErrorCode::InvalidRequest] {
                let answer = fault(stage, told);
                assert!(matches!(answer, Action::Answer(_)), "{answer:?}");
                assert_eq!(code_of(answer), Some(told));
            }
        }
        for stage in &STAGES[1..] {
            let answer = fault(*stage, ErrorCode::VersionMismatch);
            assert!(matches!(answer, Action::Answer(_)), "{answer:?}");
            assert_eq!(code_of(answer), Some(ErrorCode::InvalidRequest));
        }
    }
}
