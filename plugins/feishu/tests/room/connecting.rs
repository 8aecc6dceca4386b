//! Making, keeping and losing the long connection.

use scv_plugin_api::{
    Session,
    wire::{Fault, FaultKind},
};
use scv_simulators::{Feishu, feishu::Brand};
use serde_json::json;
use tokio::time::timeout;

use crate::account::{Host, LIMIT, platform, script};

async fn refused(platform: &Feishu) -> Fault {
    match Host::try_connect(platform, "").await {
        Ok(_) => panic!("connected"),
        Err(fault) => fault,
    }
}

#[tokio::test]
async fn everything_goes_through_the_proxy_and_to_the_brands_hosts() {
    for (brand, domain) in [(Brand::Feishu, "feishu.cn"), (Brand::Lark, "larksuite.com")] {
        let platform = platform();
        platform.brand(brand);
        let host = Host::connect(&platform, "").await;
        platform.wait_pings(1, LIMIT).await.expect("a ping");
        host.session.close().await;
        let dialled = platform.dialled();
        let own = |target: &String| target.ends_with(&format!(".{domain}:443"));
        assert!(dialled.iter().all(own) && dialled.len() > 1, "{dialled:?}");
        assert_eq!(platform.violations(), [""; 0]);
    }
}

#[tokio::test]
async fn a_foreign_host_is_not_dialled() {
    let platform = platform();
    platform.socket_origin("wss://evil.example");
    let fault = refused(&platform).await;
    assert_eq!(fault.kind, FaultKind::Retry);
    assert!(!fault.message.contains("evil"), "{}", fault.message);
    assert!(platform.dialled().iter().all(|target| !target.contains("evil")));
}

#[tokio::test]
async fn discovery_says_no_in_many_ways() {
    for (answer, kind) in [
        (json!({"code": 1000040343}), FaultKind::Retry),
        (json!({"code": 1000040345}), FaultKind::Auth),
        (json!({"code": 1000040350}), FaultKind::Retry),
        (json!({"code": 1000040351}), FaultKind::Config),
        (json!({"body": {"code": 1, "msg": "system busy"}}), FaultKind::Retry),
        (json!({"body": "<html>captive portal</html>"}), FaultKind::Retry),
        (json!({"http": 502, "body": "<html>"}), FaultKind::Retry),
        (json!({"drop": "before"}), FaultKind::Retry),
    ] {
        let platform = platform();
        let mut endpoint = json!({"path": "/callback/ws/endpoint"});
        endpoint.as_object_mut().expect("o").extend(answer.as_object().expect("o").clone());
        script(&platform, endpoint);
        assert_eq!(refused(&platform).await.kind, kind, "{answer}");
        Host::connect(&platform, "").await;
    }
}

#[tokio::test]
async fn a_lost_connection_ends_the_session_and_the_next_one_works() {
    let platform = platform();
    let mut host = Host::connect(&platform, "").await;
    platform.cut();
    assert_eq!(fault(&mut host).await.kind, FaultKind::Retry);
    let mut host = Host::connect(&platform, "").await;
    platform.close(1000);
    assert_eq!(fault(&mut host).await.kind, FaultKind::Retry);
}

async fn fault(host: &mut Host) -> Fault {
    let ending = async {
        loop {
            if let Err(fault) = host.next().await {
                return fault;
            }
        }
    };
    timeout(LIMIT, ending).await.expect("an end in time")
}

#[tokio::test]
async fn stop_ends_a_wait_at_once_and_closes_the_connection() {
    let platform = platform();
    let mut host = Host::connect(&platform, "").await;
    let stop = host.stop.clone();
    let (fault, ()) = tokio::join!(fault(&mut host), async { stop.fire() });
    assert_eq!(fault.kind, FaultKind::Cancelled);
    host.session.close().await;
    let gone = async {
        while platform.open() > 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(LIMIT, gone).await.expect("closed");
}

#[tokio::test]
async fn without_the_bots_id_direct_messages_are_answered() {
    let platform = platform();
    script(&platform, json!({"path": "/bot/v3/info", "code": 7, "times": 99}));
    let mut host = Host::connect(&platform, "").await;
    platform.push_mention(scv_simulators::feishu::OWNER, "in the group");
    platform.push_message(scv_simulators::feishu::OWNER, "direct");
    assert_eq!(host.texts(2).await, ["direct"]);
}

#[tokio::test]
async fn a_lost_connection_is_spread_as_the_platform_asks_and_named_by_its_brand() {
    let platform = platform();
    platform.brand(Brand::Lark);
    platform.config(json!({"ReconnectNonce": 25}).as_object().expect("an object"));
    let mut host = Host::connect(&platform, "").await;
    platform.cut();
    let fault = fault(&mut host).await;
    assert!(fault.after_ms.is_some_and(|after_ms| after_ms < 25_000), "{fault:?}");
    assert!(fault.message.starts_with("Lark's long connection"), "{}", fault.message);
}
