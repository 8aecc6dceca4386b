//! A throw-away authority, and the certificate of all hosts of the platform.

use std::sync::Arc;

use anyhow::Context;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// The names that the certificate covers.
const NAMES: [&str; 5] =
    ["*.feishu.cn", "*.larksuite.com", "feishu.cn", "larksuite.com", "localhost"];

/// The authority in PEM, and the settings of a server that it vouches for.
pub(super) fn issue() -> anyhow::Result<(String, Arc<ServerConfig>)> {
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    authority.distinguished_name.push(DnType::CommonName, "throw-away authority of a simulator");
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let mut leaf = CertificateParams::new(NAMES.map(str::to_owned))?;
    // With the authority's name it would count as self-signed.
    leaf.distinguished_name.push(DnType::CommonName, "simulated platform");
    leaf.use_authority_key_identifier_extension = true;
    let leaf = leaf.signed_by(&key, &authority)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .context("the certificate does not fit its key")?;
    Ok((authority.pem(), Arc::new(config)))
}
