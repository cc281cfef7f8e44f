//! The only TLS stack: rustls, with the cryptography of ring.

// The HTTP client of object_store; a dependency only for its feature that selects TLS without a provider.
use reqwest as _;

/// Makes ring the process's provider of cryptography for rustls, unless the program has installed another one.
///
/// With the features `http` and `cloud`, the client of `object_store` has no provider, so creating a client fails until one is installed.
/// Opening a store by its address installs one; programs that create clients of `object_store` themselves call this function first. Further
/// calls do nothing.
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
