//! The paths of the platform.

/// What can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// `get_bot_qrcode`: begins a sign-in.
    GetBotQrcode,
    /// `get_qrcode_status`: asks how the sign-in goes.
    GetQrcodeStatus,
    /// `getupdates`: the long poll.
    GetUpdates,
    /// `sendmessage`.
    SendMessage,
    /// `getconfig`: the typing ticket.
    GetConfig,
    /// `sendtyping`.
    SendTyping,
    /// `msg/notifystart`.
    NotifyStart,
    /// `msg/notifystop`.
    NotifyStop,
}

impl Endpoint {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::GetBotQrcode,
        Self::GetQrcodeStatus,
        Self::GetUpdates,
        Self::SendMessage,
        Self::GetConfig,
        Self::SendTyping,
        Self::NotifyStart,
        Self::NotifyStop,
    ];

    /// The path after `/ilink/bot/`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GetBotQrcode => "get_bot_qrcode",
            Self::GetQrcodeStatus => "get_qrcode_status",
            Self::GetUpdates => "getupdates",
            Self::SendMessage => "sendmessage",
            Self::GetConfig => "getconfig",
            Self::SendTyping => "sendtyping",
            Self::NotifyStart => "msg/notifystart",
            Self::NotifyStop => "msg/notifystop",
        }
    }

    pub(super) fn of_path(path: &str) -> Option<Self> {
        let name = path.strip_prefix("/ilink/bot/")?;
        Self::ALL.into_iter().find(|endpoint| endpoint.name() == name)
    }

    /// The two calls of a sign-in come without a token.
    pub(super) const fn is_sign_in(self) -> bool {
        matches!(self, Self::GetBotQrcode | Self::GetQrcodeStatus)
    }

    pub(super) fn allows(self, method: &str) -> bool {
        match self {
            Self::GetBotQrcode => matches!(method, "GET" | "POST"),
            Self::GetQrcodeStatus => method == "GET",
            _ => method == "POST",
        }
    }
}
