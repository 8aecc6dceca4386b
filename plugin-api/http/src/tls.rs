//! TLS over a connection, with roots that are read when they are first needed.

use std::io;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;

use crate::error::HttpError;
use crate::link::Io;

/// The trust of one client; clones share it.
#[derive(Clone)]
pub(crate) struct LazyTls {
    inner: Arc<Inner>,
}

struct Inner {
    extra_ca_pem: Option<Vec<u8>>,
    config: OnceCell<Arc<ClientConfig>>,
}

impl LazyTls {
    pub(crate) fn new(extra_ca_pem: Option<Vec<u8>>) -> Self {
        Self { inner: Arc::new(Inner { extra_ca_pem, config: OnceCell::new() }) }
    }

    /// Makes `io` a TLS connection to `host` (an IPv6 address without brackets).
    pub(crate) async fn wrap(&self, io: Box<dyn Io>, host: &str) -> Result<Box<dyn Io>, HttpError> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| HttpError::InvalidUrl)?;
        let config = self.inner.config.get_or_try_init(|| self.load()).await?;
        match TlsConnector::from(config.clone()).connect(name, io).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => Err(of_handshake(&error)),
        }
    }

    async fn load(&self) -> Result<Arc<ClientConfig>, HttpError> {
        let extra = self.inner.extra_ca_pem.clone();
        let reading = tokio::task::spawn_blocking(move || roots(extra.as_deref()));
        let roots = reading.await.map_err(|_| HttpError::Tls)??;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| HttpError::Tls)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Arc::new(config))
    }
}

/// The machine's certificates (`SSL_CERT_FILE` and `SSL_CERT_DIR` included) and the extra ones.
/// An unreadable one of the machine is left out; an unreadable extra one is an error.
fn roots(extra_ca_pem: Option<&[u8]>) -> Result<RootCertStore, HttpError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for certificate in CertificateDer::pem_slice_iter(extra_ca_pem.unwrap_or_default()) {
        let certificate = certificate.map_err(|_| HttpError::Tls)?;
        roots.add(certificate).map_err(|_| HttpError::Tls)?;
    }
    if roots.is_empty() { Err(HttpError::Tls) } else { Ok(roots) }
}

fn of_handshake(error: &io::Error) -> HttpError {
    match error.get_ref() {
        Some(cause) if cause.is::<rustls::Error>() => HttpError::Tls,
        _ => HttpError::Connect,
    }
}
