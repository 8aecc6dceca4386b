//! The paths of the platform, and the hosts that have them.

use super::outbox::Target;
use super::script::Brand;
use crate::request::Request;

/// What can be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Endpoint {
    Registration,
    TenantToken,
    BotInfo,
    Discovery,
    Send(Target),
    List,
    Socket,
}

impl Endpoint {
    pub(super) fn of(host: &str, request: &Request) -> Option<Self> {
        let name = host.strip_suffix(Brand::of_host(host)?.domain())?;
        match (name, request.method.as_str(), request.path.as_str()) {
            ("accounts.", "POST", "/oauth/v1/app/registration") => Some(Self::Registration),
            ("open.", method, path) => Self::of_open(method, path, request),
            ("msg-frontier.", "GET", "/ws/v2") => Some(Self::Socket),
            _ => None,
        }
    }

    fn of_open(method: &str, path: &str, request: &Request) -> Option<Self> {
        const MESSAGES: &str = "/open-apis/im/v1/messages";
        match (method, path) {
            ("POST", "/open-apis/auth/v3/tenant_access_token/internal") => Some(Self::TenantToken),
            ("GET", "/open-apis/bot/v3/info") => Some(Self::BotInfo),
            ("POST", "/callback/ws/endpoint") => Some(Self::Discovery),
            ("GET", MESSAGES) => Some(Self::List),
            ("POST", MESSAGES) => {
                let kind = request.query_value("receive_id_type").unwrap_or_default();
                Some(Self::Send(Target::Create(kind.to_owned())))
            }
            ("POST", path) => {
                let id = path.strip_prefix(MESSAGES)?.strip_prefix('/')?.strip_suffix("/reply")?;
                Some(Self::Send(Target::Reply(id.to_owned())))
            }
            _ => None,
        }
    }

    /// Calls that carry a tenant token.
    pub(super) const fn needs_token(&self) -> bool {
        matches!(self, Self::BotInfo | Self::Send(_) | Self::List)
    }
}
