//! The kit's host object: keeps what a plugin says, and lets a person answer its sign-ins.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use abi_stable::{
    sabi_trait::TD_Opaque,
    std_types::{RArc, RResult, RStr, RString, RVec},
};
use async_ffi::{FfiFuture, FutureExt};
use scv_plugin_abi::{RawHost, RawHost_TO, RawHostArc, Reply};
use tokio::{runtime::Handle, sync::watch};

use crate::wire::{Fault, LoginEvent, LoginEventBody, PromptAnswer, decode, encode};

/// What a person does when a sign-in shows something; nothing: never comes back.
pub(super) type Person = Box<dyn Fn(&LoginEventBody) -> Option<PromptAnswer> + Send + Sync>;

/// Everything that one plugin said to its host.
pub(super) struct Watch {
    words: Mutex<Vec<String>>,
    person: Mutex<Option<Arc<Person>>>,
    events: watch::Sender<usize>,
}

impl Watch {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            words: Mutex::default(),
            person: Mutex::default(),
            events: watch::Sender::default(),
        })
    }

    /// The object that `create` is given. Callbacks are answered on this runtime.
    pub(super) fn raw(self: &Arc<Self>) -> RawHostArc {
        let host = KitHost { watch: self.clone(), runtime: Handle::current() };
        RawHost_TO::from_ptr(RArc::new(host), TD_Opaque)
    }

    /// Who sits before the sign-ins from now on.
    pub(super) fn seat(&self, person: Person) {
        *lock(&self.person) = Some(Arc::new(person));
    }

    /// Keeps a text that must hold no secret.
    pub(super) fn heard(&self, text: impl Into<String>) {
        lock(&self.words).push(text.into());
    }

    /// Where one of these can be read.
    pub(super) fn leak(&self, secrets: &[String]) -> Option<String> {
        let words = lock(&self.words);
        let holds = |text: &&String| secrets.iter().any(|secret| text.contains(secret.as_str()));
        let text = words.iter().find(holds)?;
        let hidden = |text: String, secret: &String| text.replace(secret.as_str(), "[SECRET]");
        Some(secrets.iter().fold(text.clone(), hidden))
    }

    /// How many things sign-ins have shown.
    pub(super) fn events(&self) -> watch::Receiver<usize> {
        self.events.subscribe()
    }

    async fn show(self: Arc<Self>, event: LoginEvent) -> Result<Vec<u8>, Fault> {
        let person = lock(&self.person).clone();
        let answer = person.and_then(|person| person(&event.body));
        self.events.send_modify(|count| *count += 1);
        match answer {
            Some(answer) => encode(&answer),
            None => std::future::pending().await,
        }
    }
}

struct KitHost {
    watch: Arc<Watch>,
    runtime: Handle,
}

impl RawHost for KitHost {
    fn log_enabled(&self, _: u8) -> bool {
        true
    }

    fn log(&self, _: u8, _: RStr<'_>, record: RStr<'_>) {
        self.watch.heard(record.as_str());
    }

    fn call(&self, op: RString, payload: RVec<u8>) -> FfiFuture<Reply> {
        let watch = self.watch.clone();
        // On the kit's runtime: a plugin's threads have no reactor of ours.
        let task = self.runtime.spawn(async move {
            if op != "login.event" {
                return Err(Fault::unsupported("the conformance kit has no such operation"));
            }
            watch.show(decode("login.event", &payload)?).await
        });
        async move {
            let answer = task.await.unwrap_or_else(|_| Err(Fault::cancelled("the kit has ended")));
            match answer {
                Ok(document) => RResult::ROk(document.into()),
                Err(fault) => RResult::RErr(encode(&fault).unwrap_or_default().into()),
            }
        }
        .into_ffi()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
