//! CPU of one answered message, against the bare chain: HTTP receive, echo turn, HTTP send.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context, Result};
use scv_simulators::{Ilink, ilink::OWNER};
use serde_json::{Value, json};

use super::SOON;
use crate::{
    bench::{
        baseline,
        engine::{
            line::Talker,
            process::{cpu, thread_cpu},
        },
        row,
        start::{Connected, echo},
    },
    harness::{Built, Daemon, Home},
};

const MESSAGES: u32 = 400;

/// The daemon's CPU for a message, with the instant built-in provider.
pub(in crate::bench) async fn per_message(built: &Built) -> Result<()> {
    let Connected { mut daemon, ilink, home: _home } = Connected::start(built).await?;
    let before = cpu_of(&daemon)?;
    for number in 1..=MESSAGES as usize {
        ilink.push_message(OWNER, "hello");
        ilink.wait_visible(OWNER, number, SOON).await?;
    }
    let whole = cpu_of(&daemon)?.saturating_sub(before) / MESSAGES;
    daemon.terminate().await?;
    let bare = bare_chain(built, false).await?;
    let durable = bare_chain(built, true).await?;
    let times = |other: Duration| whole.as_secs_f64() / other.as_secs_f64();
    row(
        "CPU per answered message",
        &format!("{} µs", whole.as_micros()),
        &format!(
            "{:.1} × the bare chain ({} µs), {:.1} × one with three commits ({} µs)",
            times(bare),
            bare.as_micros(),
            times(durable),
            durable.as_micros()
        ),
    );
    Ok(())
}

fn cpu_of(daemon: &Daemon) -> Result<Duration> {
    cpu(daemon.pid().as_raw_nonzero().get().unsigned_abs())
}

/// What a bare client spends on a thread of its own, and the daemon for the turns.
async fn bare_chain(built: &Built, is_durable: bool) -> Result<Duration> {
    let home = Home::new(built)?;
    let mut options = echo();
    options.arguments.push("--no-plugins".into());
    let mut daemon = Daemon::spawn(&home, &options).await?;
    let before = cpu_of(&daemon)?;
    let journal = is_durable.then(|| File::create(home.user().join("journal"))).transpose()?;
    let (socket, cwd) = (home.socket(), home.workspace());
    let chain = Chain { ilink: scripted()?, socket, cwd, journal };
    let own = tokio::task::spawn_blocking(move || chain.run()).await??;
    let of_daemon = cpu_of(&daemon)?.saturating_sub(before);
    daemon.terminate().await?;
    Ok((own + of_daemon) / MESSAGES)
}

/// A platform with one message in each poll's answer.
fn scripted() -> Result<Ilink> {
    let ilink = Ilink::start()?;
    for number in 0..MESSAGES {
        let message = json!({
            "message_id": number, "from_user_id": OWNER, "context_token": "c",
            "item_list": [{"type": 1, "text_item": {"text": "hello"}}],
        });
        ilink.push_poll(json!({"msgs": [message], "get_updates_buf": "b"}).to_string());
    }
    Ok(ilink)
}

struct Chain {
    ilink: Ilink,
    socket: PathBuf,
    cwd: PathBuf,
    /// Where it makes durable what it received, what it answers, and that this was sent.
    journal: Option<File>,
}

impl Chain {
    /// Runs it on this thread, and gives the CPU that it took.
    fn run(self) -> Result<Duration> {
        let mut talker = Talker::new(&self.socket, &self.cwd)?;
        let turn = talker.turn();
        let mut http = Http::connect(&self.ilink)?;
        let before = thread_cpu()?;
        for number in 0..MESSAGES {
            let batch = http.post("getupdates", &json!({"get_updates_buf": "b"}))?;
            batch["msgs"][0]["item_list"][0]["text_item"]["text"].as_str().context("a text")?;
            self.commit()?;
            talker.client.send_line(&turn)?;
            let said: Value = serde_json::from_slice(talker.client.until("assistant.completed")?)?;
            talker.client.until("turn.completed")?;
            self.commit()?;
            let message = json!({
                "to_user_id": OWNER, "client_id": number.to_string(),
                "item_list": [{"type": 1, "text_item": {"text": said["content"]}}],
            });
            http.post("sendmessage", &json!({"msg": message}))?;
            self.commit()?;
        }
        Ok(thread_cpu()?.saturating_sub(before))
    }

    fn commit(&self) -> Result<()> {
        self.journal.as_ref().map_or(Ok(()), baseline::commit)
    }
}

/// HTTP in its barest form: one connection, one request after the other.
struct Http {
    stream: BufReader<TcpStream>,
    token: String,
}

impl Http {
    fn connect(ilink: &Ilink) -> Result<Self> {
        let url = ilink.base_url();
        let stream = TcpStream::connect(url.trim_start_matches("http://"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SOON))?;
        Ok(Self { stream: BufReader::new(stream), token: ilink.credentials().token })
    }

    fn post(&mut self, endpoint: &str, body: &Value) -> Result<Value> {
        let (token, body) = (&self.token, body.to_string());
        let request = format!(
            "POST /ilink/bot/{endpoint} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut answer = vec![0; self.head()?];
        self.stream.read_exact(&mut answer)?;
        Ok(serde_json::from_slice(&answer)?)
    }

    /// Reads the head of an answer, and gives the length of its body.
    fn head(&mut self) -> Result<usize> {
        let mut length = None;
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            match line.trim_end().split_once(": ") {
                Some(("content-length", value)) => length = Some(value.parse()?),
                None if line.trim_end().is_empty() => break,
                _ => {}
            }
        }
        length.context("the platform tells the length")
    }
}
