//! The secret first segment of every path, for servers that other machines can reach.

use subtle::ConstantTimeEq;

/// A secret of 128 random bits, in hexadecimal digits.
#[derive(Clone)]
pub struct AccessToken(String);

impl std::fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AccessToken(…)")
    }
}

impl AccessToken {
    /// A new secret from the system's source of random numbers.
    ///
    /// # Errors
    /// If the system has no such source.
    pub fn new() -> std::io::Result<Self> {
        let mut bytes = [0u8; 16];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        Ok(Self(
            bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        ))
    }

    /// The digits.
    #[must_use]
    pub fn digits(&self) -> &str {
        &self.0
    }

    /// Whether a path is `/TOKEN` without a trailing slash.
    pub(crate) fn is_whole(&self, path: &str) -> bool {
        let last = path
            .strip_prefix('/')
            .is_some_and(|rest| !rest.contains('/'));
        last && self.strip(path).is_some()
    }

    /// The path after `/TOKEN`; `None` if another segment is first. Takes the same time for every wrong token of
    /// the right length.
    pub(crate) fn strip<'p>(&self, path: &'p str) -> Option<&'p str> {
        let rest = path.strip_prefix('/')?;
        let (first, rest) = match rest.find('/') {
            Some(at) => rest.split_at_checked(at)?,
            None => (rest, "/"),
        };
        bool::from(first.as_bytes().ct_eq(self.0.as_bytes())).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_opens_paths() {
        let token = AccessToken::new().unwrap();
        assert_eq!(token.digits().len(), 32);
        assert_ne!(token.digits(), AccessToken::new().unwrap().digits());
        let path = format!("/{}/store/a", token.digits());
        assert_eq!(token.strip(&path), Some("/store/a"));
        let whole = format!("/{}", token.digits());
        assert_eq!(token.strip(&whole), Some("/"));
        assert!(token.is_whole(&whole));
        for other in [path.as_str(), &format!("{whole}/"), token.digits(), "/", ""] {
            assert!(!token.is_whole(other), "{other}");
        }
        for wrong in ["/", "", "/store/a", "//store", "/0/store"] {
            assert_eq!(token.strip(wrong), None, "{wrong}");
        }
        let short = path.replacen(token.digits(), token.digits().get(1..).unwrap(), 1);
        assert_eq!(token.strip(&short), None);
        assert!(!format!("{token:?}").contains(token.digits()));
    }
}
