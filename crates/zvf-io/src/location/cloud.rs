//! Object stores of the three clouds, and compatible servers.

use std::sync::Arc;

use url::Url;

use super::{Backs, BuiltStore, NoBackend, profile, retries};
use crate::IoOptions;

/// The client's limit on a whole transfer: a day, which in effect disables the limit. `retry.rs` limits the time without progress, and the
/// time of a body according to its length.
const TIMEOUT: &str = "86400 seconds";

/// Applies `key=value` pairs to a builder.
macro_rules! configured {
    ($builder:expr, $options:expr, $store:literal) => {{
        let mut builder = $builder;
        for (key, value) in $options {
            let parsed = key.to_ascii_lowercase().parse().map_err(|_| {
                NoBackend::Build(object_store::Error::UnknownConfigurationKey {
                    key: key.clone(),
                    store: $store,
                })
            })?;
            builder = builder.with_config(parsed, value);
        }
        builder
    }};
}

/// Fails for values with which the client would panic when it makes a request: an endpoint that is not a URL, and credentials with control
/// characters, such as the end of a line.
fn check(
    store: &'static str,
    endpoint: Option<String>,
    credentials: &[(&str, Option<String>)],
) -> Result<(), NoBackend> {
    let wrong = |what: String| {
        NoBackend::Build(object_store::Error::Generic {
            store,
            source: what.into(),
        })
    };
    if let Some(endpoint) = endpoint {
        let url = Url::parse(&endpoint);
        if !url.is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
            return Err(wrong(format!(
                "endpoint: found {endpoint:?}, expected a URL such as http://localhost:9000"
            )));
        }
    }
    for (name, value) in credentials {
        let is_bad = |value: &String| value.chars().any(char::is_control);
        if value.as_ref().is_some_and(is_bad) {
            return Err(wrong(format!(
                "{name}: found a control character, such as the end of a line, expected none"
            )));
        }
    }
    Ok(())
}

/// The backend options without `profile`, which is not an option of the client.
fn s3_options(options: &IoOptions) -> impl Iterator<Item = &(String, String)> {
    let all = options.backend.iter();
    all.filter(|(key, _)| !key.eq_ignore_ascii_case(profile::OPTION))
}

pub(super) fn s3(url: &Url, options: &IoOptions) -> BuiltStore {
    use object_store::ClientConfigKey::{AllowHttp, Timeout};
    use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
    let builder = AmazonS3Builder::from_env()
        .with_url(url.as_str())
        .with_config(AmazonS3ConfigKey::Client(AllowHttp), "true")
        .with_config(AmazonS3ConfigKey::Client(Timeout), TIMEOUT)
        .with_http_connector(crate::web_answers::WebConnector::default())
        .with_retry(retries());
    let mut builder = configured!(builder, s3_options(options), "S3");
    builder = profile::apply(builder, options).map_err(NoBackend::Build)?;
    if options.anonymous {
        builder = builder.with_skip_signature(true);
    }
    let value = |key| builder.get_config_value(&key);
    check(
        "S3",
        value(AmazonS3ConfigKey::Endpoint),
        &[
            ("access key", value(AmazonS3ConfigKey::AccessKeyId)),
            ("secret key", value(AmazonS3ConfigKey::SecretAccessKey)),
            ("session token", value(AmazonS3ConfigKey::Token)),
            ("region", value(AmazonS3ConfigKey::Region)),
        ],
    )?;
    Ok((
        Arc::new(builder.build().map_err(NoBackend::Build)?),
        Backs::BUCKET,
    ))
}

pub(super) fn gcs(url: &Url, options: &IoOptions) -> BuiltStore {
    use object_store::ClientConfigKey::Timeout;
    use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
    let builder = GoogleCloudStorageBuilder::from_env()
        .with_url(url.as_str())
        .with_config(GoogleConfigKey::Client(Timeout), TIMEOUT)
        .with_http_connector(crate::web_answers::WebConnector::default())
        .with_retry(retries());
    let mut builder = configured!(builder, &options.backend, "GCS");
    if options.anonymous {
        builder = builder.with_skip_signature(true);
    }
    let value = |key| builder.get_config_value(&key);
    check(
        "GCS",
        value(GoogleConfigKey::BaseUrl),
        &[("bearer token", value(GoogleConfigKey::BearerToken))],
    )?;
    Ok((
        Arc::new(builder.build().map_err(NoBackend::Build)?),
        Backs::BUCKET,
    ))
}

pub(super) fn azure(url: &Url, options: &IoOptions) -> BuiltStore {
    use object_store::ClientConfigKey::{AllowHttp, Timeout};
    use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
    let builder = MicrosoftAzureBuilder::from_env()
        .with_url(url.as_str())
        .with_config(AzureConfigKey::Client(AllowHttp), "true")
        .with_config(AzureConfigKey::Client(Timeout), TIMEOUT)
        .with_http_connector(crate::web_answers::WebConnector::default())
        .with_retry(retries());
    let mut builder = configured!(builder, &options.backend, "MicrosoftAzure");
    if options.anonymous {
        builder = builder.with_skip_signature(true);
    }
    let value = |key| builder.get_config_value(&key);
    check(
        "MicrosoftAzure",
        value(AzureConfigKey::Endpoint),
        &[
            ("account", value(AzureConfigKey::AccountName)),
            ("access key", value(AzureConfigKey::AccessKey)),
            ("token", value(AzureConfigKey::Token)),
        ],
    )?;
    // Azure does not support suffix ranges; its client refuses to send them.
    let backs = Backs {
        suffixes: false,
        ..Backs::BUCKET
    };
    Ok((Arc::new(builder.build().map_err(NoBackend::Build)?), backs))
}
