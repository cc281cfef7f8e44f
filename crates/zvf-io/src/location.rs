//! Resolves addresses to backends.

use std::path::PathBuf;
#[cfg(feature = "backends")]
use std::sync::Arc;

#[cfg(feature = "backends")]
use object_store::ObjectStore;
#[cfg(feature = "backends")]
use object_store::path::Path;
#[cfg(feature = "backends")]
use url::Url;

#[cfg(feature = "backends")]
use crate::Merge;
use crate::{IoError, IoOptions};

/// A resolved address.
#[derive(Debug, Clone)]
pub(crate) enum Location {
    /// A folder of the local disk, read with plain file calls.
    Local(PathBuf),
    /// A prefix of an object store.
    #[cfg(feature = "backends")]
    Remote {
        store: Arc<dyn ObjectStore>,
        prefix: String,
        backs: Backs,
    },
}

#[cfg(feature = "backends")]
/// The features of a kind of backend, as assumed before its first answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backs {
    /// Delimiter listings.
    pub(crate) lists: bool,
    /// Requests for the last bytes of an object.
    pub(crate) suffixes: bool,
    /// The rules by which neighbouring ranges are merged into one request.
    pub(crate) merge: Merge,
}

#[cfg(feature = "backends")]
impl Backs {
    const BUCKET: Self = Self {
        lists: true,
        suffixes: true,
        merge: Merge::BUCKET,
    };
}

impl Location {
    /// Resolves an address: a path, or a URL of a scheme that is compiled in.
    pub(crate) fn resolve(address: &str, options: &IoOptions) -> Result<Self, IoError> {
        if options.caller_store.is_some() {
            return Err(IoError::misuse(
                "a caller store can only be read, and only as a store: it supports neither single files nor writing",
            ));
        }
        Self::of(address, options)
    }

    /// Resolves a path: without the feature `backends`, only local paths are supported.
    #[cfg(not(feature = "backends"))]
    fn of(address: &str, _: &IoOptions) -> Result<Self, IoError> {
        match scheme(address) {
            None => Ok(Self::Local(PathBuf::from(address))),
            Some(scheme) => Err(IoError::NotSupported {
                key: address.to_owned(),
                what: format!(
                    "the backend for {scheme:?} is not compiled in: feature \"backends\""
                ),
            }),
        }
    }

    #[cfg(feature = "backends")]
    fn of(address: &str, options: &IoOptions) -> Result<Self, IoError> {
        let bad = |what: String| IoError::Address {
            url: address.to_owned(),
            what,
        };
        let url = match scheme(address) {
            None if options.object_store.is_none() => {
                return Ok(Self::Local(PathBuf::from(address)));
            }
            None => None,
            Some(_) => Some(parsed(address)?),
        };
        if let Some(url) = &url {
            check_key(url).map_err(&bad)?;
        }
        if let Some(store) = &options.object_store {
            let prefix = match &url {
                Some(url) => Path::from_url_path(url.path()).map_err(|e| bad(e.to_string()))?,
                None => Path::parse(address.trim_matches('/')).map_err(|e| bad(e.to_string()))?,
            };
            let store = Arc::clone(store);
            return Ok(Self::Remote {
                store,
                prefix: prefix.as_ref().to_owned(),
                backs: Backs::BUCKET,
            });
        }
        let Some(url) = url else {
            return Ok(Self::Local(PathBuf::from(address)));
        };
        match url.scheme() {
            "file" => match url.to_file_path() {
                Ok(path) => Ok(Self::Local(path)),
                Err(()) => Err(bad(
                    "the URL does not name a local file, expected one such as file:///data/store"
                        .to_owned(),
                )),
            },
            "memory" => Err(bad(
                "a memory address needs `IoOptions::object_store`".to_owned()
            )),
            scheme => {
                let options = &options.for_address(address)?;
                let (store, backs) = remote(scheme, &url, options).map_err(|e| match e {
                    NoBackend::Missing(feature) => IoError::NotSupported {
                        key: address.to_owned(),
                        what: format!("the backend for {scheme:?} is not compiled in: feature {feature:?}"),
                    },
                    NoBackend::Unknown => bad(format!(
                        "unknown scheme {scheme:?}, expected a path, file, memory, s3, gs, az, http or https"
                    )),
                    NoBackend::Build(source) => bad(source.to_string()),
                })?;
                let prefix = match scheme {
                    // Unless the server lists, the base URL of the client is the whole address.
                    "http" | "https" if !backs.lists => String::new(),
                    _ => Path::from_url_path(url.path())
                        .map_err(|e| bad(e.to_string()))?
                        .as_ref()
                        .to_owned(),
                };
                Ok(Self::Remote {
                    store,
                    prefix,
                    backs,
                })
            }
        }
    }
}

/// Parses a URL. Fails if it has characters that the parser would remove without an error.
#[cfg(feature = "backends")]
pub(crate) fn parsed(address: &str) -> Result<Url, IoError> {
    let bad = |what: String| IoError::Address {
        url: address.to_owned(),
        what,
    };
    if address.trim() != address {
        let what = "found a blank at the end, expected none, or %20 if the name ends with one";
        return Err(bad(what.to_owned()));
    }
    if address.contains(char::is_control) {
        let what = "found a control character, expected a URL without any";
        return Err(bad(what.to_owned()));
    }
    Url::parse(address).map_err(|error| bad(error.to_string()))
}

/// Fails if a URL has a part that does not belong to the key and would be ignored: `?` (except for web servers) and `#`.
#[cfg(feature = "backends")]
fn check_key(url: &Url) -> Result<(), String> {
    let is_web = matches!(url.scheme(), "http" | "https");
    let (letter, escape) = match (url.query(), url.fragment()) {
        (Some(_), _) if !is_web => ("?", "%3F"),
        (_, Some(_)) => ("#", "%23"),
        _ => return Ok(()),
    };
    Err(format!(
        "found `{letter}`, which ends the path of a URL, expected {escape} if the name contains `{letter}`"
    ))
}

/// The scheme of an address that is a URL; `None` for paths (also `C:\…`).
pub(crate) fn scheme(address: &str) -> Option<&str> {
    let (scheme, _) = address.split_once("://")?;
    let legal = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    legal.then_some(scheme)
}

#[cfg(feature = "backends")]
/// Why an address has no backend.
enum NoBackend {
    #[cfg_attr(
        feature = "cloud",
        expect(dead_code, reason = "every backend is compiled in")
    )]
    Missing(&'static str),
    Unknown,
    #[cfg_attr(
        not(feature = "http"),
        expect(dead_code, reason = "no backend is compiled in")
    )]
    Build(object_store::Error),
}

#[cfg(feature = "backends")]
type BuiltStore = Result<(Arc<dyn ObjectStore>, Backs), NoBackend>;

#[cfg(feature = "backends")]
fn remote(scheme: &str, url: &Url, options: &IoOptions) -> BuiltStore {
    match scheme {
        "s3" | "s3a" => cloud::s3(url, options),
        "gs" => cloud::gcs(url, options),
        "az" | "azure" | "abfs" | "abfss" | "adl" => cloud::azure(url, options),
        "http" | "https" => http(url, options),
        _ => Err(NoBackend::Unknown),
    }
}

/// Turns off the client's retries, because `retry.rs` retries, counts and records requests.
#[cfg(feature = "http")]
fn retries() -> object_store::RetryConfig {
    object_store::RetryConfig {
        max_retries: 0,
        ..object_store::RetryConfig::default()
    }
}

#[cfg(feature = "cloud")]
mod cloud;
#[cfg(feature = "cloud")]
mod profile;

#[cfg(all(feature = "backends", not(feature = "cloud")))]
mod cloud {
    use super::{BuiltStore, IoOptions, NoBackend, Url};

    pub(crate) fn s3(_: &Url, _: &IoOptions) -> BuiltStore {
        Err(NoBackend::Missing("cloud"))
    }
    pub(crate) use {s3 as azure, s3 as gcs};
}

/// A plain web server: it cannot list, unless the option `webdav=true` declares that it supports WebDAV.
#[cfg(feature = "http")]
fn http(url: &Url, options: &IoOptions) -> BuiltStore {
    use object_store::http::HttpBuilder;
    use object_store::{ClientConfigKey, ClientOptions};
    let mut client = ClientOptions::new()
        .with_allow_http(true)
        .with_timeout_disabled();
    let mut lists = false;
    for (key, value) in &options.backend {
        if key.eq_ignore_ascii_case("webdav") {
            lists = match value.to_ascii_lowercase().as_str() {
                "true" | "1" => true,
                "false" | "0" => false,
                _ => {
                    let source = format!("webdav: found {value:?}, expected true or false").into();
                    let store = "HTTP";
                    return Err(NoBackend::Build(object_store::Error::Generic {
                        store,
                        source,
                    }));
                }
            };
            continue;
        }
        let parsed: ClientConfigKey = key.to_ascii_lowercase().parse().map_err(NoBackend::Build)?;
        client = client.with_config(parsed, value);
    }
    let (mut url, login) = without_login(url);
    if let Some(login) = login {
        let headers = [(reqwest::header::AUTHORIZATION, login)];
        client = client.with_default_headers(headers.into_iter().collect());
    }
    // WebDAV listings name objects by their whole path on the server, so the path of the address is part of the keys.
    let base = match lists {
        true => String::new(),
        false => url.path().trim_end_matches('/').to_owned(),
    };
    url.set_path(&base);
    let store = HttpBuilder::new()
        .with_url(url.as_str())
        .with_client_options(client)
        .with_http_connector(crate::web_answers::WebConnector::default())
        .with_retry(retries())
        .build()
        .map_err(NoBackend::Build)?;
    let backs = Backs {
        lists,
        suffixes: true,
        merge: Merge::WEB,
    };
    Ok((Arc::new(store), backs))
}

/// The URL without user and password, and the header `Authorization` for them: the client ignores them in URLs, and its errors would print
/// them. At a redirect to another server the client leaves the header out.
#[cfg(feature = "http")]
fn without_login(url: &Url) -> (Url, Option<object_store::HeaderValue>) {
    use base64::Engine;
    use percent_encoding::percent_decode_str;
    let mut plain = url.clone();
    let password = url.password().unwrap_or_default();
    // This fails only for URLs without a host.
    let changed = plain.set_username("").and(plain.set_password(None));
    if changed.is_err() || (url.username().is_empty() && password.is_empty()) {
        return (plain, None);
    }
    let mut login: Vec<u8> = percent_decode_str(url.username()).collect();
    login.push(b':');
    login.extend(percent_decode_str(password));
    let text = base64::engine::general_purpose::STANDARD.encode(login);
    let header = object_store::HeaderValue::try_from(format!("Basic {text}"));
    let header = header.ok().map(|mut header| {
        header.set_sensitive(true);
        header
    });
    (plain, header)
}

#[cfg(all(feature = "backends", not(feature = "http")))]
fn http(_: &Url, _: &IoOptions) -> BuiltStore {
    Err(NoBackend::Missing("http"))
}

#[cfg(all(test, feature = "backends"))]
mod tests {
    use super::{Location, scheme};
    use crate::IoOptions;

    #[test]
    fn paths_and_urls_are_told_apart() {
        assert_eq!(scheme("s3://bucket/key"), Some("s3"));
        assert_eq!(scheme("/data/größe.zarrvectors"), None);
        assert_eq!(scheme("C:\\data"), None);
        assert_eq!(scheme("a b://x"), None);
    }

    #[test]
    fn unknown_schemes_are_misuse() {
        let error = Location::resolve("ftp://host/x", &IoOptions::new()).unwrap_err();
        assert_eq!(error.class(), crate::Class::Misuse);
        assert!(error.to_string().contains("ftp"), "{error}");
    }

    #[test]
    fn parts_of_an_address_that_are_no_key_are_refused() {
        for (address, letter) in [
            ("s3://bucket/run?2.zv", "%3F"),
            ("s3://bucket/run#2.zv", "%23"),
            ("gs://bucket/a?b#c", "%3F"),
            ("az://container/a#c", "%23"),
            ("file:///data/run#2.zv", "%23"),
            ("file:///data/run?2.zv", "%3F"),
            ("http://host/run#2.zv", "%23"),
            ("s3://bucket/a\tb", "a control character"),
            ("s3://bucket/a ", "%20"),
        ] {
            let error = Location::resolve(address, &IoOptions::new()).unwrap_err();
            assert_eq!(error.class(), crate::Class::Misuse, "{address}");
            assert!(error.to_string().contains(letter), "{error}");
        }
    }

    #[cfg(feature = "http")]
    #[test]
    fn user_and_password_of_a_url_are_a_header() {
        for (address, plain, header) in [
            ("http://h/a.zv?b=c", "http://h/a.zv?b=c", None),
            (
                "http://Aladdin:open%20sesame@h:8000/a.zv",
                "http://h:8000/a.zv",
                Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
            ),
            ("https://me@h/", "https://h/", Some("Basic bWU6")),
        ] {
            let (url, login) = super::without_login(&url::Url::parse(address).unwrap());
            assert_eq!(url.as_str(), plain);
            let login = login.as_ref().map(|login| login.to_str().unwrap());
            assert_eq!(login, header, "{address}");
        }
    }

    #[test]
    fn options_with_an_address_apply_below_it() {
        let options = IoOptions::new()
            .with_backend_option("region", "eu-west-1")
            .with_backend_option("s3://one:endpoint", "http://localhost:1")
            .with_backend_option("s3://two/data/:endpoint", "http://localhost:2")
            .with_backend_option("http://localhost:8000:webdav", "true");
        let region = ("region", "eu-west-1");
        for (address, expected) in [
            ("s3://one", vec![region, ("endpoint", "http://localhost:1")]),
            (
                "s3://one/a.zv",
                vec![region, ("endpoint", "http://localhost:1")],
            ),
            ("s3://one-more/a.zv", vec![region]),
            (
                "s3://two/data/a.zv",
                vec![region, ("endpoint", "http://localhost:2")],
            ),
            ("s3://two/a.zv", vec![region]),
            (
                "http://localhost:8000/a.zv",
                vec![region, ("webdav", "true")],
            ),
        ] {
            let found = options.for_address(address).unwrap().backend;
            let found: Vec<(&str, &str)> = found.iter().map(|(a, b)| (&**a, &**b)).collect();
            assert_eq!(found, expected, "{address}");
        }
        let wrong = IoOptions::new().with_backend_option("s3://bucket", "eu-west-1");
        let error = wrong.for_address("s3://bucket/a.zv").unwrap_err();
        assert_eq!(error.class(), crate::Class::Misuse);
    }

    #[cfg(feature = "http")]
    #[test]
    fn a_server_with_webdav_has_the_path_in_its_keys() {
        let plain = IoOptions::new();
        let dav = plain.clone().with_backend_option("webdav", "true");
        for (address, options, expected) in [
            ("http://host/a%20b/s.zv/", &plain, ""),
            ("http://host/a%20b/s.zv/", &dav, "a b/s.zv"),
            ("http://host", &dav, ""),
        ] {
            let Location::Remote { prefix, .. } = Location::resolve(address, options).unwrap()
            else {
                panic!("expected a remote location")
            };
            assert_eq!(prefix, expected, "{address}");
        }
    }

    #[cfg(feature = "cloud")]
    #[test]
    fn settings_with_which_the_client_would_panic_are_misuse() {
        for (address, key, value, expected) in [
            ("s3://b/k", "endpoint", "127.0.0.1:9000", "endpoint"),
            ("s3://b/k", "endpoint", "localhost", "endpoint"),
            ("s3://b/k", "access_key_id", "AK\r", "access key"),
            ("s3://b/k", "secret_access_key", "secret\n", "secret key"),
            ("s3://b/k", "session_token", "\u{7f}secret", "session token"),
            ("gs://b/k", "google_base_url", "localhost:1", "endpoint"),
            ("az://b/k", "azure_endpoint", "localhost:1", "endpoint"),
        ] {
            let options = IoOptions::new().with_backend_option(key, value);
            let error = Location::resolve(address, &options).unwrap_err();
            assert_eq!(error.class(), crate::Class::Misuse, "{address} {key}");
            let text = error.to_string();
            assert!(
                text.contains(expected) && !text.contains("secret\n"),
                "{text}"
            );
        }
    }

    #[test]
    fn injected_backends_keep_the_path_as_prefix() {
        let options = IoOptions::new()
            .with_object_store(std::sync::Arc::new(object_store::memory::InMemory::new()));
        let Location::Remote { prefix, .. } =
            Location::resolve("memory:///a%20b/50%25", &options).unwrap()
        else {
            panic!("expected a remote location")
        };
        assert_eq!(prefix, "a b/50%");
    }
}
