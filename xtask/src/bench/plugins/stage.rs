//! A home with an account at each bundled channel, and the platforms that these speak to.

use std::net::TcpListener;

use anyhow::Result;
use scv_protocol::ComponentState;
use scv_simulators::{Feishu, Ilink};

use super::{super::start::echo, SOON};
use crate::harness::{Built, Daemon, Home, Options, Scv};

/// Their components.
const COMPONENTS: [&str; 3] = ["feishu:default", "webhook:default", "wechat:default"];

/// Accounts that are signed in while no daemon runs.
pub(in crate::bench) struct Accounts {
    pub(in crate::bench) home: Home,
    ilink: Ilink,
    feishu: Feishu,
}

impl Accounts {
    pub(in crate::bench) async fn sign_in(built: &Built) -> Result<Self> {
        let (home, ilink, feishu) = (Home::installed(built)?, Ilink::start()?, Feishu::start()?);
        let scv = Scv::on(&home);
        scv.login_wechat(&ilink, "default").await?;
        scv.login_feishu(&feishu, "default").await?;
        // A port that was free a moment ago.
        let listen = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        scv.login_webhook(listen, "default").await?;
        Ok(Self { home, ilink, feishu })
    }

    /// How a daemon is started that reaches the platforms.
    pub(in crate::bench) fn options(&self) -> Options {
        // The first poll is answered at once: it would be held for 35 s.
        self.ilink.push_poll(r#"{"msgs":[],"get_updates_buf":"buf-0"}"#);
        Options { environment: self.feishu.environment(), ..echo() }
    }

    /// Waits until all accounts are at work, connected or not.
    pub(in crate::bench) async fn all_starting(&self, daemon: &Daemon) -> Result<()> {
        for component in COMPONENTS {
            let starts =
                |state| matches!(state, ComponentState::Starting | ComponentState::Connected);
            daemon.component(component, SOON, |a| starts(a.state)).await?;
        }
        Ok(())
    }

    /// Waits until all accounts are connected.
    pub(in crate::bench) async fn all_connected(&self, daemon: &Daemon) -> Result<()> {
        for component in COMPONENTS {
            let connected = |state| state == ComponentState::Connected;
            daemon.component(component, SOON, |a| connected(a.state)).await?;
        }
        Ok(())
    }
}
