//! What a sign-in may replace.

use std::fs;

use scv_bridge::{
    AccountsError,
    accounts::{LoginError, SavedIdentity, store_login},
    fingerprint,
};
use scv_plugin_api::wire::Relogin;

use crate::support::{
    home::{BOT, TestHome, credentials, identity},
    platform::Platform,
};

fn saved(home: &TestHome) -> SavedIdentity {
    let saved = home.accounts.read_saved(&home.channel, &home.account).unwrap().unwrap();
    SavedIdentity {
        fingerprint: fingerprint(&identity(saved.credentials.expose())),
        revision: saved.revision,
    }
}

#[test]
fn the_same_bot_may_sign_in_again_and_another_may_not() {
    let home = TestHome::signed_in();
    home.sign_in(BOT, Some(&saved(&home))).unwrap();
    let other = home.sign_in("bot-2", Some(&saved(&home)));
    let error = other.unwrap_err();
    assert!(matches!(error, AccountsError::OtherIdentity(_)));
    assert!(error.to_string().ends_with("; run `scv channels logout pigeon` first"), "{error}");
}

#[test]
fn what_changed_meanwhile_is_not_overwritten() {
    let home = TestHome::signed_in();
    let before = saved(&home);
    fs::write(home.path("accounts/default.json"), "{\"token\":\"newer\"}").unwrap();
    assert_eq!(home.sign_in(BOT, Some(&before)), Err(AccountsError::Changed));
    assert_eq!(home.sign_in(BOT, None), Err(AccountsError::Changed));
}

#[test]
fn a_channel_may_want_a_logout_first() {
    let home = TestHome::signed_in();
    let may = |relogin| home.accounts.may_sign_in(&home.channel, &home.account, relogin);
    assert_eq!(may(Relogin::SameIdentity), Ok(()));
    assert!(matches!(may(Relogin::LogoutFirst), Err(AccountsError::SignedIn(_))));
    home.accounts.logout(&home.channel, &home.account).unwrap();
    assert_eq!(may(Relogin::LogoutFirst), Ok(()));
}

#[tokio::test]
async fn the_plugin_says_whose_credentials_they_are() {
    let home = TestHome::new();
    let platform = Platform::new();
    let sign_in = async |bot: &str| {
        let channel = platform.channel();
        let new = credentials(bot);
        store_login(&home.accounts, &platform, &channel, &home.account, new).await
    };
    assert_eq!(sign_in(BOT).await.unwrap().bot_id.as_deref(), Some(BOT));
    sign_in(BOT).await.unwrap();
    let other = sign_in("bot-2").await.unwrap_err();
    assert!(matches!(other, LoginError::Accounts(AccountsError::OtherIdentity(_))), "{other}");
    let kept = home.accounts.read_saved(&home.channel, &home.account).unwrap().unwrap();
    assert_eq!(kept.credentials, credentials(BOT));
}
