//! The names of every variant of the wire types. A new variant does not compile until it is
//! named here, and then fails the test until the page shows it.

use scv_protocol::{
    ClientMessage, ComponentState, ControlCommand, ErrorCode, PluginState, RemoteTools, Risk,
    Senders, ServerEvent, ToolError, TurnFailure,
};
use serde::Serialize;

macro_rules! names {
    ($list:ident, $function:ident, $type:ident: $($variant:ident)*) => {
        pub(crate) const $list: &[&str] = &[$(stringify!($variant)),*];

        pub(crate) fn $function(value: &$type) -> &'static str {
            match value {
                $($type::$variant { .. } => stringify!($variant),)*
            }
        }
    };
}

names!(MESSAGES, message, ClientMessage:
    Initialize DaemonControl SessionStart TurnStart TurnCancel ApprovalResolve
    QueueUpdate QueueMove QueueRemove SessionPause SessionClear SessionAttach
);
names!(ACTIONS, action, ControlCommand:
    Status Reload ChannelSet ChannelLogout ChannelHeld ChannelSend ClawbotSet ClawbotLogout
    Plugins Logs Delegations DelegationKill
);
names!(EVENTS, event, ServerEvent:
    Initialized DaemonStatus SessionStarted QueueSnapshot QueueEnqueued QueueUpdated QueueMoved
    QueueRemoved QueueDequeued SessionPaused SessionCleared SessionTrimmed TurnStarted
    AssistantDelta AssistantCompleted ToolProposed ApprovalRequested ToolStarted ToolProgress
    ToolCompleted ContextCompacted TurnCompleted TurnCancelled TurnFailed Error Unknown
);

/// The wire names of a type of plain words. `Unknown` stands for those of newer servers.
macro_rules! plain {
    ($words:ident, $type:ident: $($variant:ident)*) => {{
        const fn _every_variant_is_named(value: $type) {
            match value {
                $($type::$variant => {})*
            }
        }
        $words.extend([$($type::$variant),*].map(wire_name));
    }};
}

/// Every plain word that can stand in a field.
pub(crate) fn words() -> Vec<String> {
    let mut words = Vec::new();
    plain!(words, ErrorCode:
        InvalidJson NotInitialized VersionMismatch InvalidRequest SessionNotFound TurnActive
        TurnNotFound ApprovalNotFound QueueNotFound QueueConflict QueueLimit Unsupported
        ComponentError InternalError Unknown
    );
    plain!(words, TurnFailure:
        ProviderError ContextLimit StepLimit HistoryLimit ResponseLimit ToolLimit InternalError
        Unknown
    );
    plain!(words, ToolError:
        Denied Cancelled InvalidArguments Unavailable Limit UnknownTool Failed Unknown
    );
    plain!(words, Risk: ReadOnly Filesystem Process Delegate Network Unknown);
    plain!(words, ComponentState:
        Disabled Starting Connected Disconnected Backoff Stopping Stopped Failed Unknown
    );
    plain!(words, PluginState:
        Loaded Ready Stale Disabled Unpinned Conflict Quarantined Wedged Refused Unknown
    );
    plain!(words, RemoteTools: None Owner);
    plain!(words, Senders: Everyone Owner);
    words.retain(|word| word != "unknown");
    words
}

fn wire_name(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        other => panic!("not a plain word: {other:?}"),
    }
}
