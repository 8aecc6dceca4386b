//! The agent as a connection uses it: sessions over an outbox, with real tools and a model server
//! on loopback.

mod backpressure;
mod cases;
mod client;
mod echo;
mod hostile;
mod remote;
mod tools;
