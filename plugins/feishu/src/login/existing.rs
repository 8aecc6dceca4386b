//! The sign-in with an app that exists: its secret is typed, and tried before anything is saved.

use scv_http::HttpClient;
use scv_plugin_api::{
    LoginUi, Result,
    wire::{Fault, FaultKind, LoginResult, Secret},
};

use super::signed_in;
use crate::{
    bot::{self, Info},
    brand::Brand,
    credentials::{Credentials, is_plain},
    rest::Api,
};

/// Signs in with the app `app_id` of this edition.
pub(crate) async fn sign_in(
    http: &HttpClient,
    brand: Brand,
    app_id: &str,
    owner: Option<String>,
    ui: &LoginUi,
) -> Result<LoginResult> {
    if !is_plain(app_id) || !owner.as_deref().is_none_or(is_plain) {
        return Err(Fault::config(
            "--app-id or --owner-open-id is no id; copy it from the developer console (cli_…, ou_…)",
        ));
    }
    let typed = ui.prompt_secret("app-secret", "App secret:").await?;
    let secret = Secret::new(typed.expose().trim().to_owned());
    let credentials =
        Credentials::new(app_id.to_owned(), secret, brand, owner).ok_or_else(|| {
            Fault::config("that is no app secret; copy it from the developer console")
        })?;
    let api = Api::new(http.clone(), credentials);
    api.token().await.map_err(|fault| refused(fault, brand))?;
    tell_if_off(&api, ui).await?;
    signed_in(api.credentials(), ui).await
}

fn refused(fault: Fault, brand: Brand) -> Fault {
    if fault.kind != FaultKind::Auth {
        return fault;
    }
    let text = format!(
        "{} refuses this app id and secret; check both in the developer console, and whether the \
         app is Feishu's or Lark's (`scv channels login feishu` or `lark`)",
        brand.title()
    );
    Fault { code: fault.code, ..Fault::config(text) }
}

/// An app that is off, or not published, signs in well and never answers anybody.
async fn tell_if_off(api: &Api, ui: &LoginUi) -> Result<()> {
    match bot::ask(api).await {
        Ok(Some(Info { off: Some(why), .. })) => ui.notice(format!("{why}.")).await,
        Ok(None) => {
            ui.notice("This app has no bot; switch the bot ability on in the console.").await
        }
        Ok(Some(_)) | Err(_) => Ok(()),
    }
}
