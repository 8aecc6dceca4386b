//! One account at work.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use scv_plugin_api::{
    BatchToken, Result, Session,
    wire::{Batch, Fault, Outgoing, Scope, SendOutcome},
};
use tokio::{net::TcpListener, sync::Mutex, task::JoinHandle, time::timeout};

use crate::{
    callback,
    channel::random_hex,
    credentials::Callback,
    limits::{MAX_WAIT_MS, RETRY_AFTER_MS},
    outbox::Reply,
    routes::Door,
    server::serve,
};

/// A listener, and what came through it.
pub struct WebhookSession {
    door: Arc<Door>,
    callback: Option<Callback>,
    batches: AtomicU64,
    serving: Mutex<Serving>,
}

/// The listener's task; without its session there is none.
struct Serving(JoinHandle<()>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl WebhookSession {
    pub(crate) fn new(listener: TcpListener, door: Arc<Door>, callback: Option<Callback>) -> Self {
        let serving = Mutex::new(Serving(tokio::spawn(serve(listener, door.clone()))));
        Self { door, callback, batches: AtomicU64::new(0), serving }
    }
}

impl Session for WebhookSession {
    async fn next_batch(&self, ack: Option<BatchToken>) -> Result<Batch> {
        let inbox = &self.door.inbox;
        if ack.is_some() {
            inbox.confirm();
            let waiting = timeout(Duration::from_millis(MAX_WAIT_MS), inbox.something());
            tokio::select! {
                biased;
                () = self.door.stop.fired() => return Err(Fault::cancelled("closed")),
                _ = waiting => {}
            }
        }
        // Without an ack it is the first read: the listener is open, and that is all to know.
        let messages = inbox.take();
        let number = self.batches.fetch_add(1, Ordering::Relaxed);
        let quiet = ack.is_some() && messages.is_empty();
        Ok(Batch { token: format!("batch-{number}"), messages, quiet, ..Batch::default() })
    }

    async fn send(&self, message: Outgoing) -> Result<SendOutcome> {
        let reply = Reply {
            client_id: message.client_id,
            reply_to: message.reply.map(|reply| reply.message_id),
            user: message.recipient.user,
            group: message.recipient.group,
            text: message.text,
        };
        if let Some(callback) = &self.callback {
            let nonce = random_hex()?;
            return Ok(callback::post(callback, self.door.secret.expose(), &nonce, &reply).await);
        }
        Ok(match self.door.endpoint.outbox.put(reply) {
            Some(cursor) => SendOutcome::Accepted { receipt: Some(cursor) },
            None => SendOutcome::Retry {
                reason: "nobody fetches the replies; call GET /v1/replies".into(),
                after_ms: Some(RETRY_AFTER_MS),
                scope: Scope::Account,
            },
        })
    }

    async fn close(&self) {
        let _ = (&mut self.serving.lock().await.0).await;
    }
}
