//! The one TLS stack: rustls, with the cryptography of ring.

// The client of object_store, named as a dependency for its feature of TLS without a provider.
use reqwest as _;

/// Makes ring the process's provider of cryptography for rustls, unless the program has installed another one.
///
/// The features `http` and `cloud` build the client of `object_store` without a provider, so that making a client fails until a provider is
/// installed. Opening a store by its address installs one; programs that make clients of `object_store` themselves call this function first.
/// Calling it again does nothing.
///
/// ```
/// # #[cfg(feature = "http")]
/// # fn main() -> Result<(), object_store::Error> {
/// zvf_io::use_ring();
/// let client = object_store::http::HttpBuilder::new().with_url("https://example.com/").build()?;
/// # let _ = client;
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "http"))]
/// # fn main() {}
/// ```
pub fn use_ring() {
    // Fails if another provider is installed, which is then used.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
