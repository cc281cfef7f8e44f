//! Format versions, and the versions that are read.

use std::fmt;

/// A format version: the first three numbers of `zv_version`.
///
/// Source: 0.9 §5.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number; 0 if the text has none.
    pub minor: u32,
    /// Third number; 0 if the text has none.
    pub patch: u32,
}

impl Version {
    /// Creates a version from its three numbers.
    #[must_use]
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self {
            major,
            minor,
            patch,
        }
    }

    /// Parses `X[.Y[.Z]]`; missing numbers are 0, and text after a third dot is ignored.
    ///
    /// `0.9`, `0.9.2` and `0.9.2.dev3` are versions. `0.9.2-rc1`, `v0.9.2`, `0..9` and the empty text are not.
    ///
    /// # Examples
    ///
    /// ```
    /// use zvf_meta::version::Version;
    /// assert_eq!(Version::parse("0.9"), Some(Version::new(0, 9, 0)));
    /// assert_eq!(Version::parse("0.9.2.dev3"), Some(Version::new(0, 9, 2)));
    /// assert_eq!(Version::parse("v0.9.2"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let major = number(parts.next()?)?;
        let minor = parts.next().map_or(Some(0), number)?;
        let patch = parts.next().map_or(Some(0), number)?;
        Some(Self {
            major,
            minor,
            patch,
        })
    }
}

/// Parses a number of digits only: no sign, no blanks.
fn number(text: &str) -> Option<u32> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The oldest version that is read. Older versions have another layout, which no later release of the reference reads.
pub const OLDEST: Version = Version::new(0, 6, 0);

/// The newest known version; newer ones are read with a warning.
pub const NEWEST: Version = Version::new(0, 9, 4);

/// The first version whose documents the [rules](crate::rules) describe in full: one array for each family, with
/// links grouped by level delta and chunk offsets. For older stores only the root is checked.
pub const RULED: Version = Version::new(0, 9, 0);

/// The first version whose writers add the member `ome`, which describes the store for other tools (0.9 §5.3).
pub const DESCRIBED: Version = Version::new(0, 9, 2);

/// Whether the rules about arrays and families apply to stores of this version: [`RULED`] and later.
#[must_use]
pub fn is_ruled(text: &str) -> bool {
    matches!(gate(text), Gate::Supported(version) | Gate::Newer(version) if version >= RULED)
}

/// Whether a store of this version may be changed in place: versions with the major and minor number of [`NEWEST`].
///
/// ```
/// use zvf_meta::version::is_editable;
/// assert!(is_editable("0.9") && is_editable("0.9.7"));
/// assert!(!is_editable("0.8.1") && !is_editable("0.10") && !is_editable("0.91"));
/// ```
#[must_use]
pub fn is_editable(text: &str) -> bool {
    let version = match gate(text) {
        Gate::Supported(version) | Gate::Newer(version) => version,
        Gate::Older(_) | Gate::Malformed => return false,
    };
    (version.major, version.minor) == (NEWEST.major, NEWEST.minor)
}

/// The versions that are read, for messages.
pub const EXPECTED: &str = "0.6.0 to 0.9.4";

/// Message for a store that is older than [`OLDEST`].
pub const OLDER: &str = "0.6.0 to 0.9.4; versions before 0.6 have another layout, which only the release that wrote them reads: write the store again from its source";

/// A reader's decision about a store of some version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Read it.
    Supported(Version),
    /// Read it and warn: a later version may have changed the meaning of documents.
    Newer(Version),
    /// Refuse it and name the version, because its layout differs.
    Older(Version),
    /// Refuse it: the text is not a version.
    Malformed,
}

impl Gate {
    /// Returns whether the store may be read, with or without a warning.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Supported(_) | Self::Newer(_))
    }
}

/// Decides whether a store of this version is read.
///
/// The reference never runs its version check (trap T4); this crate does. There is no upper bound: additions are
/// announced by `required_capabilities`, which [`RootDoc::admit`](crate::RootDoc::admit) checks as well. The layout of an array
/// or a family is detected from its node, never from the version.
///
/// Source: 0.9 §5.4; 0.8 §5.1; 0.7 §4.3 and §18.
///
/// # Examples
///
/// ```
/// use zvf_meta::version::{gate, Gate, Version};
/// assert_eq!(gate("0.9.2"), Gate::Supported(Version::new(0, 9, 2)));
/// assert_eq!(gate("0.10"), Gate::Newer(Version::new(0, 10, 0)));
/// assert_eq!(gate("0.5.2"), Gate::Older(Version::new(0, 5, 2)));
/// assert_eq!(gate("abc"), Gate::Malformed);
/// ```
#[must_use]
pub fn gate(text: &str) -> Gate {
    match Version::parse(text) {
        None => Gate::Malformed,
        Some(version) if version < OLDEST => Gate::Older(version),
        Some(version) if version > NEWEST => Gate::Newer(version),
        Some(version) => Gate::Supported(version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_of_the_format_page() {
        for text in [
            "0.9",
            "0.9.0",
            "0.9.1",
            "0.9.2",
            "0.9.2.dev3",
            "0.9.2.",
            "00.9.02",
            "0.9.4",
            "0.8.1",
            "0.7",
            "0.6.0",
            "0.8.99",
        ] {
            assert!(matches!(gate(text), Gate::Supported(_)), "{text}");
        }
        for text in ["0.9.5", "0.10.0", "1.0.0", "2", "4294967295.0"] {
            assert!(matches!(gate(text), Gate::Newer(_)), "{text}");
        }
        for text in ["0.5.9", "0.5", "0", "0.0.0", "0.4.1"] {
            assert!(matches!(gate(text), Gate::Older(_)), "{text}");
        }
        for text in [
            "",
            "abc",
            "v0.9.2",
            "0.9.2-rc1",
            "0..9",
            " 0.9",
            "+0.9",
            "-1",
            "0.9.",
            "4294967296",
            "٠.٩",
        ] {
            assert_eq!(gate(text), Gate::Malformed, "{text}");
        }
    }

    #[test]
    fn a_version_shows_three_numbers() {
        assert_eq!(Version::new(0, 9, 0).to_string(), "0.9.0");
    }
}
