//! Everything that the platform knows.

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::endpoint::Endpoint;
use super::events::{Events, Link};
use super::frame::Frame;
use super::history::{History, item_of};
use super::ids::Ids;
use super::outbox::{Outbox, Target};
use super::registration::Registration;
use super::script::{APP, Answer, BOT, BOT_NAME, Brand, Credentials, Met, OWNER, SECRET, Scripts};
use super::tokens::Tokens;
use crate::limits;
use crate::request::Request;

pub(super) struct State {
    pub(super) brand: Brand,
    /// How far the virtual clock is ahead of the machine's.
    pub(super) ahead_ms: i64,
    /// Every request with its host, in order.
    pub(super) requests: Vec<(String, Request)>,
    /// `host:port` of every CONNECT, in order.
    pub(super) dialled: Vec<String>,
    pub(super) violations: Vec<String>,
    pub(super) scripts: Scripts,
    /// Every connection is closed without a word.
    pub(super) outage: bool,
    /// Open connections say nothing any more.
    pub(super) mute: bool,
    /// `ClientConfig` of the discovery and of pongs.
    pub(super) config: Value,
    /// Discoveries that were refused.
    pub(super) refused: usize,
    /// In the URL of discoveries instead of the platform's websocket host.
    pub(super) socket_origin: Option<String>,
    pub(super) connections: Vec<Connection>,
    tickets: Vec<String>,
    pub(super) ids: Ids,
    pub(super) registration: Registration,
    pub(super) tokens: Tokens,
    pub(super) events: Events,
    pub(super) history: History,
    pub(super) outbox: Outbox,
}

/// A websocket, open or closed.
pub(super) struct Connection {
    pub(super) open: bool,
    pub(super) pings: usize,
    pub(super) service: i32,
    sender: mpsc::Sender<Out>,
}

/// What goes out on a websocket.
#[derive(Debug)]
pub(super) enum Out {
    Binary(Vec<u8>),
    Text(String),
    /// A close frame with this code.
    Close(u16),
    /// The connection ends without one.
    Cut,
}

const SERVICE: i32 = 33_554_678;

impl State {
    pub(super) fn new() -> anyhow::Result<Self> {
        Ok(Self {
            brand: Brand::Feishu,
            ahead_ms: 0,
            requests: Vec::new(),
            dialled: Vec::new(),
            violations: Vec::new(),
            scripts: Scripts::default(),
            outage: false,
            mute: false,
            config: json!({
                "ReconnectCount": -1, "ReconnectInterval": 1, "ReconnectNonce": 0,
                "PingInterval": 90,
            }),
            refused: 0,
            socket_origin: None,
            connections: Vec::new(),
            tickets: Vec::new(),
            ids: Ids::default(),
            registration: Registration::default(),
            tokens: Tokens::default(),
            events: Events::new(),
            history: History::default(),
            outbox: Outbox::new()?,
        })
    }

    pub(super) fn credentials(&self) -> Credentials {
        Credentials {
            app_id: APP.to_owned(),
            app_secret: SECRET.to_owned(),
            brand: self.brand,
            owner_open_id: Some(OWNER.to_owned()),
        }
    }

    pub(super) fn now_ms(&self) -> u64 {
        let real = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis() as u64);
        real.saturating_add_signed(self.ahead_ms)
    }

    pub(super) fn new_id(&mut self, prefix: &str) -> String {
        format!("{prefix}_{}", self.ids.hex())
    }

    pub(super) fn violation(&mut self, what: impl Into<String>) {
        self.violations.push(what.into());
    }
}

/// Requests.
impl State {
    /// A request arrives; the script that it meets.
    pub(super) fn arrive(&mut self, host: &str, request: &Request) -> Option<Met> {
        self.requests.push((host.to_owned(), request.clone()));
        let named = request.header("host").unwrap_or_default();
        let is_direct = self.socket_origin.is_some();
        if !is_direct && named.split(':').next() != Some(host) {
            self.violation(format!("a request to {host} names another host"));
        }
        self.scripts.meet(&request.method, &request.path)
    }

    /// A request whose connection ends before anything is done.
    pub(super) fn lose(&mut self, host: &str, request: &Request) {
        match Endpoint::of(host, request) {
            Some(Endpoint::Send(target)) => self.outbox.lost(&target, &request.json()),
            Some(Endpoint::Discovery) => self.refused += 1,
            _ => {}
        }
    }

    /// The answer to a request; none when the connection is cut.
    pub(super) fn respond(
        &mut self,
        host: &str,
        request: &Request,
        scripted: Option<Answer>,
    ) -> Option<Answer> {
        let Some(endpoint) = Endpoint::of(host, request) else {
            self.violation(format!("there is no {} {host}{}", request.method, request.path));
            return Some(Answer::json(404, &json!({"code": 404, "msg": "not found"})));
        };
        match endpoint {
            Endpoint::Send(target) => Some(self.send(&target, request, scripted)),
            Endpoint::Discovery => Some(self.discover(host, &request.json(), scripted)),
            _ if scripted.is_some() => scripted,
            Endpoint::Registration => self.register(host, request),
            Endpoint::TenantToken => {
                let now_ms = self.now_ms();
                Some(self.tokens.issue(&request.json(), now_ms, &mut self.ids))
            }
            endpoint if endpoint.needs_token() => Some(
                self.tokens
                    .refusal(request, self.now_ms())
                    .unwrap_or_else(|| self.with_token(&endpoint, request)),
            ),
            _ => Some(Answer::json(400, &json!({"code": 400, "msg": "no upgrade"}))),
        }
    }

    fn with_token(&mut self, endpoint: &Endpoint, request: &Request) -> Answer {
        if *endpoint == Endpoint::BotInfo {
            let bot = json!({
                "activate_status": 2, "app_name": BOT_NAME, "avatar_url": "",
                "ip_white_list": [], "open_id": BOT,
            });
            return Answer::json(200, &json!({"code": 0, "msg": "ok", "bot": bot}));
        }
        let (answer, faults) = self.history.list(&request.query_pairs());
        self.violations.extend(faults);
        answer
    }

    fn register(&mut self, host: &str, request: &Request) -> Option<Answer> {
        let brand = Brand::of_host(host).unwrap_or_default();
        let (answer, fault) = self.registration.call(brand, &request.form());
        self.violations.extend(fault);
        answer
    }

    fn send(&mut self, target: &Target, request: &Request, scripted: Option<Answer>) -> Answer {
        let token = self.tokens.refusal(request, self.now_ms());
        let new_id = self.new_id("om");
        let judged = self.outbox.take(target, &request.json(), scripted.or(token), new_id);
        self.violations.extend(judged.faults);
        if let Some((id, chat, content)) = judged.shown {
            self.history.add_own(&id, &chat, self.now_ms(), &content);
        }
        judged.answer
    }

    fn discover(&mut self, host: &str, body: &Value, scripted: Option<Answer>) -> Answer {
        let refusal = |code: i64, msg: &str| Answer::json(200, &json!({"code": code, "msg": msg}));
        let own = match scripted {
            Some(scripted) => Some(scripted),
            None if Brand::of_host(host) != Some(self.brand) => {
                Some(refusal(1_000_040_351, "Incorrect domain name"))
            }
            None if body["AppID"] != APP || body["AppSecret"] != SECRET => {
                Some(refusal(1_000_040_345, "app id or app secret is wrong"))
            }
            None => None,
        };
        if let Some(refused) = own {
            self.refused += 1;
            return refused;
        }
        let ticket = self.ids.uuid();
        let origin = match &self.socket_origin {
            Some(origin) => origin.clone(),
            None => format!("wss://msg-frontier.{}", self.brand.domain()),
        };
        let url = format!(
            "{origin}/ws/v2?fpid=493&aid=552564&device_id={}&access_key={}&service_id={SERVICE}&ticket={ticket}",
            7_300_000_000_000_000_000_u64 + self.tickets.len() as u64,
            self.ids.hex(),
        );
        self.tickets.push(ticket);
        Answer::data(json!({"URL": url, "ClientConfig": self.config}))
    }
}

/// Websockets.
impl State {
    /// Lets a connection in whose ticket has not been used.
    pub(super) fn admit(&mut self, request: &Request) -> Option<(usize, mpsc::Receiver<Out>)> {
        let ticket = request.query_value("ticket")?;
        let at = self.tickets.iter().position(|known| known == ticket)?;
        self.tickets[at].clear();
        let (sender, receiver) = mpsc::channel(limits::SOCKET_QUEUE_COUNT);
        let service = request.query_value("service_id").and_then(|id| id.parse().ok());
        let service = service.unwrap_or(SERVICE);
        self.connections.push(Connection { open: true, pings: 0, service, sender });
        Some((self.connections.len() - 1, receiver))
    }

    pub(super) fn closed(&mut self, connection: usize) {
        if let Some(connection) = self.connections.get_mut(connection) {
            connection.open = false;
        }
    }

    /// A frame arrives; what is answered at once.
    pub(super) fn receive(&mut self, connection: usize, bytes: &[u8]) -> Option<Vec<u8>> {
        let frame = match Frame::decode(bytes) {
            Ok(frame) => frame,
            Err(why) => {
                self.violation(format!("a frame of the client: {why}"));
                return None;
            }
        };
        match (frame.method, frame.header("type")) {
            (0, Some("ping")) => self.ping(connection, &frame),
            (1, _) => {
                let faults = self.events.acknowledge(&frame);
                self.violations.extend(faults);
                None
            }
            _ => {
                self.violation("a frame of the client is neither ping nor acknowledgement");
                None
            }
        }
    }

    fn ping(&mut self, connection: usize, frame: &Frame) -> Option<Vec<u8>> {
        let known = self.connections.get_mut(connection)?;
        known.pings += 1;
        if frame.service != known.service || frame.seq_id != 0 || frame.log_id != 0 {
            self.violations.push("a ping with other numbers than service_id and zeros".to_owned());
        }
        let payload = Some(self.config.to_string().into_bytes());
        let headers = vec![("type".to_owned(), "pong".to_owned())];
        let pong = Frame { service: frame.service, headers, payload, ..Frame::default() };
        (!self.mute).then(|| pong.encode())
    }

    pub(super) fn newest(&self) -> Option<usize> {
        self.connections.iter().rposition(|connection| connection.open)
    }

    /// Something goes out on the newest open connection.
    pub(super) fn say(&self, out: Out) -> bool {
        let Some(newest) = self.newest().filter(|_| !self.mute) else { return false };
        self.connections[newest].sender.try_send(out).is_ok()
    }

    /// The newest open connection ends; nothing more goes to it.
    pub(super) fn end(&mut self, out: Out) {
        if let Some(newest) = self.newest() {
            let connection = &mut self.connections[newest];
            connection.open = false;
            let _ = connection.sender.try_send(out);
        }
    }

    /// An event in raw JSON happens.
    pub(super) fn event(&mut self, payload: String) {
        let parsed: Value = serde_json::from_str(&payload).unwrap_or(Value::Null);
        self.outbox.learn(&parsed);
        if let Some(item) = item_of(&parsed) {
            self.history.add(item);
        }
        self.push(payload);
    }

    /// An event comes to the client, and to nothing else.
    pub(super) fn push(&mut self, payload: String) {
        let (now_ms, link) = (self.now_ms(), self.link());
        let frames = self.events.push(payload, now_ms, link, &mut self.ids);
        self.say_frames(&frames);
    }

    /// Tries everything again that is due.
    pub(super) fn retry(&mut self) {
        let (now_ms, link) = (self.now_ms(), self.link());
        let frames = self.events.due(now_ms, link, &mut self.ids);
        self.say_frames(&frames);
    }

    /// History of chats, as it is from now on beside what happened already.
    pub(super) fn add_history(&mut self, chats: BTreeMap<String, Vec<Value>>, endless: bool) {
        for (chat, items) in chats {
            if endless {
                self.history.endless.insert(chat);
            }
            for item in items {
                self.outbox.learn_item(&item);
                self.history.add(item);
            }
        }
    }

    pub(super) fn recall(&mut self, message_id: &str) {
        self.outbox.recall(message_id);
        self.history.recall(message_id);
    }

    fn link(&self) -> Option<Link> {
        let newest = self.newest().filter(|_| !self.mute)?;
        Some(Link { connection: newest, service: self.connections[newest].service })
    }

    fn say_frames(&self, frames: &[Frame]) {
        for frame in frames {
            self.say(Out::Binary(frame.encode()));
        }
    }

    /// Deliveries on open connections that wait for their acknowledgement.
    pub(super) fn unacknowledged(&self) -> usize {
        let open = self.connections.iter().enumerate().filter(|(_, connection)| connection.open);
        open.map(|(at, _)| self.events.open_on(at)).sum()
    }
}
