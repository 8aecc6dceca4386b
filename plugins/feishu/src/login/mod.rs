//! Signing in: by a scan that makes a new app, or with an app that exists.

mod existing;
mod machine;
mod poll;
mod scan;

pub(crate) use self::{existing::sign_in as sign_in_with_app, scan::sign_in as sign_in_by_scan};

use scv_plugin_api::{LoginUi, Result, wire::LoginResult};

use crate::credentials::Credentials;

/// Ends a sign-in: what is left for the person to do, and what the host saves.
async fn signed_in(credentials: &Credentials, ui: &LoginUi) -> Result<LoginResult> {
    let console = format!("{}/app/{}", credentials.brand.open(), credentials.app_id);
    let text = "The bot's name and permissions are changed in the developer console (a change \
                needs a new version of the app):";
    ui.link(console, text).await?;
    ui.notice(
        "Should the account be connected and no message arrive: the app must get its events by \
         long connection, with the event im.message.receive_v1 switched on in the console.",
    )
    .await?;
    if credentials.owner_open_id.is_none() {
        ui.notice("No owner is known, so nobody can be granted tools on this account.").await?;
    }
    let summary = format!("{} is connected.", credentials.brand.title());
    Ok(LoginResult::SignedIn { credentials: credentials.document()?, summary })
}
