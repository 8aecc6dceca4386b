//! The two editions of one platform, and the hosts of each.

use scv_http::Origin;
use serde::{Deserialize, Serialize};

/// An edition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Brand {
    /// feishu.cn.
    Feishu,
    /// larksuite.com.
    Lark,
}

impl Brand {
    /// The edition with this name, as credentials and the platform's answers spell it.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "feishu" => Some(Self::Feishu),
            "lark" => Some(Self::Lark),
            _ => None,
        }
    }

    /// Its name in credentials and fingerprints.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Feishu => "feishu",
            Self::Lark => "lark",
        }
    }

    /// Its name for people.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Feishu => "Feishu",
            Self::Lark => "Lark",
        }
    }

    /// Where apps are registered.
    pub(crate) const fn accounts(self) -> &'static str {
        match self {
            Self::Feishu => "https://accounts.feishu.cn",
            Self::Lark => "https://accounts.larksuite.com",
        }
    }

    /// Where everything else is called.
    pub(crate) const fn open(self) -> &'static str {
        match self {
            Self::Feishu => "https://open.feishu.cn",
            Self::Lark => "https://open.larksuite.com",
        }
    }

    /// Whether an address is of this edition: `https` on its domain and the usual port.
    pub(crate) fn owns(self, origin: &Origin) -> bool {
        let domain = match self {
            Self::Feishu => "feishu.cn",
            Self::Lark => "larksuite.com",
        };
        origin.is_https() && origin.port() == 443 && origin.host_is_under(domain)
    }
}
