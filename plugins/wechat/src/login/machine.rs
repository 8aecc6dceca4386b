//! What to do about each status of a sign-in. No I/O, no clock.

use scv_http::Origin;
use scv_plugin_api::wire::Fault;

use super::status::{Confirmed, Status};
use crate::{credentials::Credentials, limits::NEW_CODES_COUNT, origin::named_by_platform};

/// A sign-in that goes on.
pub(crate) struct SignIn {
    /// Where it began, and where each code is drawn.
    login: Origin,
    /// Where this code is followed.
    origin: Origin,
    new_codes_left: u32,
    scanned: bool,
    digits: Option<String>,
    asked: bool,
}

/// What to do next; after all but the last three, the status is asked for again.
#[derive(Debug)]
pub(crate) enum Step {
    /// Nothing.
    Wait,
    /// Tell the person how far it is.
    Say(&'static str),
    /// Ask for the digits and give them to [`SignIn::answer`].
    Ask(&'static str),
    /// Draw a new code, and show it with this line, which says why.
    Draw(&'static str),
    /// No new credentials; are the saved ones good?
    AlreadyBound,
    /// Done.
    SignedIn(Credentials),
    /// It cannot go on.
    Fail(Fault),
}

impl SignIn {
    /// A sign-in whose first code was just drawn at `login`.
    pub(crate) fn new(login: Origin) -> Self {
        Self {
            origin: login.clone(),
            login,
            new_codes_left: NEW_CODES_COUNT,
            scanned: false,
            digits: None,
            asked: false,
        }
    }

    /// Where the status is asked for.
    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The digits to send with the next status poll.
    pub(crate) fn digits(&self) -> Option<&str> {
        self.digits.as_deref()
    }

    /// The person typed these digits. They are sent until the platform says something about them.
    pub(crate) fn answer(&mut self, digits: String) {
        self.digits = Some(digits);
    }

    /// What to do about a status.
    pub(crate) fn step(&mut self, status: Status) -> Step {
        match status {
            Status::Waiting => Step::Wait,
            // A redirect without a host: go on here.
            Status::Scanned | Status::Redirect(None) => self.scanned(),
            Status::Redirect(Some(host)) => self.redirect(&host),
            Status::NeedsDigits => self.ask(),
            Status::DigitsBlocked => self.draw(
                "The digits were wrong too often; scan this new code with WeChat on your phone:",
            ),
            Status::Expired => {
                self.draw("The code has expired; scan this new one with WeChat on your phone:")
            }
            Status::AlreadyBound => Step::AlreadyBound,
            Status::Confirmed(Some(confirmed)) => self.confirm(confirmed),
            Status::Confirmed(None) => Step::Fail(Fault::protocol(
                "WeChat confirmed the sign-in without all credentials; nothing was saved, try again",
            )),
        }
    }

    fn scanned(&mut self) -> Step {
        self.digits = None;
        if std::mem::replace(&mut self.scanned, true) {
            return Step::Wait;
        }
        Step::Say("The code was scanned; confirm on the phone.")
    }

    fn redirect(&mut self, host: &str) -> Step {
        let scheme = if self.login.is_https() { "https" } else { "http" };
        // A sign-in on this machine may be sent to the platform as well, and that is https.
        let named = [scheme, "https"]
            .iter()
            .find_map(|scheme| named_by_platform(&self.login, &format!("{scheme}://{host}")));
        match named {
            Some(origin) => {
                self.origin = origin;
                self.scanned()
            }
            None => Step::Fail(Fault::protocol(
                "WeChat named a host outside weixin.qq.com, which was not followed; start the sign-in again",
            )),
        }
    }

    fn ask(&mut self) -> Step {
        self.digits = None;
        if std::mem::replace(&mut self.asked, true) {
            return Step::Ask("Those digits were wrong; type the digits that the phone shows:");
        }
        Step::Ask("Type the digits that the phone shows:")
    }

    fn draw(&mut self, reason: &'static str) -> Step {
        if self.new_codes_left == 0 {
            return Step::Fail(Fault::other(
                "no code was confirmed in time; start the sign-in again when the phone is at hand",
            ));
        }
        *self = Self { new_codes_left: self.new_codes_left - 1, ..Self::new(self.login.clone()) };
        Step::Draw(reason)
    }

    fn confirm(&self, confirmed: Confirmed) -> Step {
        let Confirmed { token, bot_id, user_id, base_url } = confirmed;
        let named = base_url.map(|url| named_by_platform(&self.login, &url));
        let Some(origin) = named.unwrap_or_else(|| Some(self.login.clone())) else {
            return Step::Fail(Fault::protocol(
                "WeChat named an address outside weixin.qq.com for this account; nothing was saved, start the sign-in again",
            ));
        };
        match Credentials::new(token, &origin, bot_id, user_id) {
            Some(credentials) => Step::SignedIn(credentials),
            None => Step::Fail(Fault::protocol(
                "WeChat confirmed the sign-in with a token of another form; nothing was saved, try again",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use scv_plugin_api::wire::FaultKind;
    use scv_simulators::cases::wechat_case;
    use serde_json::{Value, json};

    use super::*;
    use crate::{login::status::read_status, origin::trusted};

    const REAL: &str = "https://ilinkai.weixin.qq.com";
    const LOCAL: &str = "http://127.0.0.1:9";

    fn begin(login: &str) -> SignIn {
        SignIn::new(trusted(login).expect("trusted"))
    }

    fn feed(sign_in: &mut SignIn, answer: &Value) -> Step {
        sign_in.step(read_status(200, answer.to_string().as_bytes()))
    }

    fn status(sign_in: &mut SignIn, name: &str) -> Step {
        feed(sign_in, &json!({"ret": 0, "status": name}))
    }

    fn case(id: &str, sign_in: &mut SignIn) -> Vec<Step> {
        let case = wechat_case(id).expect("a case");
        let answers = case.steps.iter().filter_map(|step| step.qr.as_ref());
        answers.map(|body| sign_in.step(read_status(200, body.get().as_bytes()))).collect()
    }

    fn saved(step: &Step) -> Value {
        let Step::SignedIn(credentials) = step else { panic!("not signed in: {step:?}") };
        credentials.document().expect("JSON")
    }

    #[test]
    fn qr_refresh() {
        let steps = case("qr-refresh", &mut begin(REAL));
        assert!(
            matches!(
                &steps[..],
                [Step::Wait, Step::Draw(_), Step::Wait, Step::Say(_), Step::SignedIn(_)]
            ),
            "{steps:?}"
        );
        assert_eq!(
            saved(&steps[4]),
            json!({
                "token": "t",
                "base_url": "https://ilinkai.weixin.qq.com",
                "bot_id": "abcdef012345@im.bot",
                "user_id": "o9cq8TESTUSER0000000000000001@im.wechat",
            })
        );
    }

    #[test]
    fn three_new_codes_and_no_more() {
        let mut sign_in = begin(REAL);
        for reason in ["expired", "verify_code_blocked", "expired"] {
            assert!(matches!(status(&mut sign_in, reason), Step::Draw(_)), "{reason}");
        }
        assert!(matches!(status(&mut sign_in, "expired"), Step::Fail(_)));
    }

    #[test]
    fn qr_redirect() {
        let mut sign_in = begin(REAL);
        let steps = case("qr-redirect", &mut sign_in);
        assert!(matches!(&steps[..], [Step::Say(_), Step::Fail(_), Step::Wait]), "{steps:?}");
        assert_eq!(sign_in.origin().to_string(), "https://idc2.weixin.qq.com");
    }

    #[test]
    fn a_redirect_never_leaves_the_platform() {
        for host in [
            "evil.example",
            "weixin.qq.com.evil.example",
            "user@idc2.weixin.qq.com",
            "evil.example/.weixin.qq.com",
            "evil.example#.weixin.qq.com",
            "127.0.0.1:9",
            "localhost",
        ] {
            let mut sign_in = begin(REAL);
            let answer = json!({"status": "scaned_but_redirect", "redirect_host": host});
            assert!(matches!(feed(&mut sign_in, &answer), Step::Fail(_)), "{host}");
            assert_eq!(sign_in.origin().to_string(), REAL);
        }
    }

    #[test]
    fn a_sign_in_on_this_machine_may_stay_there() {
        let mut sign_in = begin(LOCAL);
        let answer = json!({"status": "scaned_but_redirect", "redirect_host": "127.0.0.1:10"});
        assert!(matches!(feed(&mut sign_in, &answer), Step::Say(_)));
        assert_eq!(sign_in.origin().to_string(), "http://127.0.0.1:10");
        assert!(matches!(status(&mut sign_in, "expired"), Step::Draw(_)));
        assert_eq!(sign_in.origin().to_string(), LOCAL, "each code begins anew");
    }

    #[test]
    fn qr_verify() {
        let mut sign_in = begin(REAL);
        let steps = case("qr-verify", &mut sign_in);
        assert!(
            matches!(&steps[..], [Step::Ask(first), Step::Ask(second), Step::Draw(_)]
                if !first.contains("wrong") && second.contains("wrong")),
            "{steps:?}"
        );
        let Step::Ask(question) = status(&mut sign_in, "need_verifycode") else { panic!() };
        assert!(!question.contains("wrong"), "the new code has new digits");
    }

    #[test]
    fn digits_are_sent_until_the_platform_judges_them() {
        let mut sign_in = begin(REAL);
        status(&mut sign_in, "need_verifycode");
        sign_in.answer("42".to_owned());
        sign_in.step(read_status(502, b"<html>"));
        assert_eq!(sign_in.digits(), Some("42"));
        status(&mut sign_in, "scaned");
        assert_eq!(sign_in.digits(), None);
    }

    #[test]
    fn qr_bound() {
        let steps = case("qr-bound", &mut begin(REAL));
        assert!(matches!(&steps[..], [Step::AlreadyBound]), "{steps:?}");
    }

    #[test]
    fn qr_confirmed_short() {
        let steps = case("qr-confirmed-short", &mut begin(REAL));
        assert!(
            matches!(&steps[..], [Step::Fail(fault)] if fault.kind == FaultKind::Protocol),
            "{steps:?}"
        );
    }

    #[test]
    fn qr_unknown_status() {
        let steps = case("qr-unknown-status", &mut begin(REAL));
        let [Step::Wait, last] = &steps[..] else { panic!("{steps:?}") };
        assert_eq!(saved(last)["base_url"], REAL, "no `baseurl`: where the sign-in began");
    }

    #[test]
    fn a_foreign_base_url_is_refused() {
        for url in ["https://evil.example", "http://ilinkai.weixin.qq.com", LOCAL, "nonsense"] {
            let answer = json!({
                "status": "confirmed", "bot_token": "hunter22", "ilink_bot_id": "b",
                "ilink_user_id": "u", "baseurl": url,
            });
            let step = feed(&mut begin(REAL), &answer);
            assert!(matches!(&step, Step::Fail(_)), "{url}: {step:?}");
        }
    }

    #[test]
    fn no_answer_is_no_news() {
        let mut sign_in = begin(REAL);
        for (http_status, body) in [(524, "{\"status\":\"expired\"}"), (200, "<html>"), (200, "{}")]
        {
            let step = sign_in.step(read_status(http_status, body.as_bytes()));
            assert!(matches!(step, Step::Wait), "{body}");
        }
    }
}
