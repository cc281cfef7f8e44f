//! Keys and settings of S3 from the files of the program `aws`: `~/.aws/credentials` and `~/.aws/config`.
//!
//! Source: the AWS reference "Using shared config and credentials files", and the order in which its tools look for keys:
//! options, environment, these files, then the credentials of the machine.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use object_store::Error;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};

use crate::IoOptions;

/// The credentials, which are all taken from the same source.
const KEYS: [(&str, AmazonS3ConfigKey); 3] = [
    ("aws_access_key_id", AmazonS3ConfigKey::AccessKeyId),
    ("aws_secret_access_key", AmazonS3ConfigKey::SecretAccessKey),
    ("aws_session_token", AmazonS3ConfigKey::Token),
];
/// The other supported settings.
const SETTINGS: [(&str, AmazonS3ConfigKey); 2] = [
    ("region", AmazonS3ConfigKey::Region),
    ("endpoint_url", AmazonS3ConfigKey::Endpoint),
];
/// Settings that refer to another source of credentials.
const ELSEWHERE: [&str; 5] = [
    "sso_session",
    "sso_start_url",
    "role_arn",
    "credential_process",
    "login_session",
];
/// The name of the option that chooses a profile.
pub(super) const OPTION: &str = "profile";

/// The settings of one profile.
type ProfileSettings = BTreeMap<String, String>;

/// Passes settings of the chosen profile to the builder, unless options or environment set them.
///
/// # Errors
/// A requested profile that is in neither file; a profile with an unsupported source of keys; a file that cannot be read.
pub(super) fn apply(
    builder: AmazonS3Builder,
    options: &IoOptions,
) -> Result<AmazonS3Builder, Error> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut given = options.backend.iter().rev();
    let given = given.find(|(key, _)| key.eq_ignore_ascii_case(OPTION));
    let asked = given.map(|(_, name)| name.clone());
    let asked = asked.or_else(|| variable("AWS_PROFILE"));
    let file = |name: &str, usual: &str| {
        let home = || Some(std::env::home_dir()?.join(".aws").join(usual));
        variable(name).map(PathBuf::from).or_else(home)
    };
    let files = [
        file("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
        file("AWS_CONFIG_FILE", "config"),
    ];
    let profile = read(files, asked.as_deref())?;
    // A token for the machine's identity has precedence over the files.
    let identity = asked.is_none() && variable("AWS_WEB_IDENTITY_TOKEN_FILE").is_some();
    fill(builder, &profile, !options.anonymous && !identity)
}

/// The settings of a profile from both files: of the requested profile, else of `default`, which may be absent.
fn read(files: [Option<PathBuf>; 2], asked: Option<&str>) -> Result<ProfileSettings, Error> {
    let name = asked.unwrap_or("default");
    let mut found = None;
    for path in files.iter().flatten() {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(format!("{}: {error}", path.display()))),
        };
        for (key, value) in section(&text, name).into_iter().flatten() {
            // The credentials file is read first and has precedence.
            found
                .get_or_insert_with(ProfileSettings::new)
                .entry(key)
                .or_insert(value);
        }
    }
    match (found, asked) {
        (None, Some(name)) => {
            let places: Vec<String> = files.iter().flatten().map(shown).collect();
            let places = places.join(" nor ");
            Err(failed(format!(
                "there is no profile {name:?} in {places}: `aws configure list-profiles` lists them"
            )))
        }
        (found, _) => Ok(found.unwrap_or_default()),
    }
}

fn shown(path: impl AsRef<Path>) -> String {
    path.as_ref().display().to_string()
}

/// The lines of a section: `[NAME]`, or `[profile NAME]` in the config file. `None` if there is no such section.
fn section(text: &str, name: &str) -> Option<ProfileSettings> {
    let mut found = None;
    let mut inside = false;
    for line in text.lines() {
        let whole = line.trim();
        if let Some(head) = whole.strip_prefix('[') {
            let head = head.split(']').next().unwrap_or(head).trim();
            let own = head.strip_prefix("profile ").map_or(head, str::trim);
            inside = own == name;
            if inside {
                found.get_or_insert_with(ProfileSettings::new);
            }
            continue;
        }
        // Indented lines belong to the setting above them.
        let comment = whole.starts_with(['#', ';']);
        if !inside || comment || line.starts_with([' ', '\t']) {
            continue;
        }
        if let (Some(found), Some((key, value))) = (&mut found, whole.split_once('=')) {
            let value = value.split(" #").next().unwrap_or(value);
            found.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    found
}

fn fill(
    mut builder: AmazonS3Builder,
    profile: &ProfileSettings,
    keys: bool,
) -> Result<AmazonS3Builder, Error> {
    let lacks = |builder: &AmazonS3Builder, key: &AmazonS3ConfigKey| {
        builder.get_config_value(key).is_none()
    };
    if keys && lacks(&builder, &AmazonS3ConfigKey::AccessKeyId) {
        let elsewhere = ELSEWHERE.iter().find(|key| profile.contains_key(**key));
        match (profile.contains_key("aws_access_key_id"), elsewhere) {
            (true, _) => {
                for (name, key) in KEYS {
                    if let Some(value) = profile.get(name) {
                        builder = builder.with_config(key, value);
                    }
                }
            }
            (false, Some(key)) => {
                return Err(failed(format!(
                    "the profile has no keys, only {key}: `aws configure export-credentials --format env` prints keys for the environment"
                )));
            }
            (false, None) => {}
        }
    }
    for (name, key) in SETTINGS {
        if let Some(value) = profile.get(name).filter(|_| lacks(&builder, &key)) {
            builder = builder.with_config(key, value);
        }
    }
    Ok(builder)
}

fn failed(what: String) -> Error {
    Error::Generic {
        store: "S3",
        source: what.into(),
    }
}

#[cfg(test)]
mod tests {
    use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey as Key};

    use super::{fill, read, section};

    const CREDENTIALS: &str = "\
# keys
[default]
aws_access_key_id = AKDEFAULT
aws_secret_access_key=abc+/= # mine
[lab]
aws_access_key_id = AKLAB
aws_secret_access_key = secret
aws_session_token = token==
";
    const CONFIG: &str = "\
[default]
region = eu-west-1
[profile lab]
region=us-west-2
s3 =
  region = nested
endpoint_url = http://localhost:9000
[profile office]
sso_session = office
[sso-session office]
sso_start_url = https://example.org
";

    fn files() -> (tempfile::TempDir, [Option<std::path::PathBuf>; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["credentials", "config"].map(|name| folder.path().join(name));
        for (path, text) in paths.iter().zip([CREDENTIALS, CONFIG]) {
            std::fs::write(path, text).unwrap();
        }
        (folder, paths.map(Some))
    }

    fn built(asked: Option<&str>, builder: AmazonS3Builder, keys: bool) -> [Option<String>; 5] {
        let (_folder, files) = files();
        let profile = read(files, asked).unwrap();
        let built = fill(builder, &profile, keys).unwrap();
        [
            Key::AccessKeyId,
            Key::SecretAccessKey,
            Key::Token,
            Key::Region,
            Key::Endpoint,
        ]
        .map(|key| built.get_config_value(&key))
    }

    #[test]
    fn the_profile_that_was_asked_for_gives_keys_and_settings() {
        let some = |values: [&str; 5]| values.map(|one| (!one.is_empty()).then(|| one.to_owned()));
        assert_eq!(
            built(None, AmazonS3Builder::new(), true),
            some(["AKDEFAULT", "abc+/=", "", "eu-west-1", ""])
        );
        let lab = [
            "AKLAB",
            "secret",
            "token==",
            "us-west-2",
            "http://localhost:9000",
        ];
        assert_eq!(built(Some("lab"), AmazonS3Builder::new(), true), some(lab));
        // Keys of options or the environment are not combined with the token of a profile.
        let own = AmazonS3Builder::new()
            .with_access_key_id("own")
            .with_region("here");
        assert_eq!(
            built(Some("lab"), own, true),
            some(["own", "", "", "here", "http://localhost:9000"])
        );
        let [key, secret, token, region, _] = built(Some("lab"), AmazonS3Builder::new(), false);
        assert_eq!((key, secret, token), (None, None, None));
        assert_eq!(region.as_deref(), Some("us-west-2"));
    }

    #[test]
    fn what_a_profile_cannot_give_is_said() {
        let (_folder, files) = files();
        let error = read(files.clone(), Some("nobody")).unwrap_err().to_string();
        assert!(error.contains("no profile \"nobody\""), "{error}");
        let office = read(files, Some("office")).unwrap();
        let error = fill(AmazonS3Builder::new(), &office, true)
            .unwrap_err()
            .to_string();
        assert!(error.contains("sso_session"), "{error}");
        assert!(fill(AmazonS3Builder::new(), &office, false).is_ok());
        // No profile was requested, and there are no files.
        assert!(read([None, None], None).unwrap().is_empty());
    }

    #[test]
    fn sections_are_told_apart() {
        assert!(section(CONFIG, "sso-session office").is_some());
        assert_eq!(section(CONFIG, "labs"), None);
        assert_eq!(
            section("[a]\nb\n=\nc=d", "a").unwrap().get("c").unwrap(),
            "d"
        );
        assert_eq!(section("[a", "a"), Some(super::ProfileSettings::new()));
    }
}
