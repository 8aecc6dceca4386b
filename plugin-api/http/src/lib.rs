//! A bounded HTTP/1.1 client for scv plugins and the provider.
//!
//! Every call has its limits, a proxy from the environment is honoured except for loopback, and no
//! error text carries anything of the request.

mod client;
mod config;
mod connect;
mod error;
mod failure;
mod limits;
mod link;
pub mod origin;
mod request;
mod response;
mod route;
mod stream;
mod tls;

pub use client::{FetchLimits, HttpClient, StreamLimits};
pub use config::HttpConfig;
pub use error::{HttpError, Phase};
pub use origin::Origin;
pub use request::Request;
pub use response::{Response, ResponseStream};
pub use stream::Stream;
