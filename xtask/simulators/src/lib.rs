//! Loopback platforms and model servers for the tests of scv.
//!
//! Each simulator is a handle: it listens on a port of its own from [`start`](Ilink::start) until
//! it is dropped, on a thread of its own, so that a test may block or run on any runtime. Its
//! state belongs to the handle and to no connection: the program under test may be killed and
//! started again. Waits take real time as their limit and do not work under paused tokio time.

pub mod cases;
pub mod feishu;
pub mod ilink;
mod limits;
pub mod model;
mod request;
mod server;
mod watched;

pub use feishu::Feishu;
pub use ilink::Ilink;
pub use model::Model;
pub use request::Request;
