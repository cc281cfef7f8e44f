//! Units of length and of time, by their names in OME-Zarr.
//!
//! ```
//! use zvf_meta::units;
//!
//! assert_eq!(units::name("µm"), Some("micrometer"));
//! assert_eq!(units::parse("8nm"), Ok((8.0, "nanometer")));
//! assert_eq!(units::parse_time("30s"), Ok((30.0, "second")));
//! assert_eq!(units::factor("um", "nm"), Some(1000.0));
//! assert_eq!(units::factor("um", "second"), None);
//! assert!(units::same("um", "micrometer") && !units::same("um", "mm"));
//! assert!(units::parse("foo").is_err());
//! ```

/// A unit: its name, its size in metres or seconds, then its symbols and further names.
type Unit = (&'static str, f64, &'static [&'static str]);

/// Units of length of OME-Zarr 0.4 and 0.5. Symbols are case-sensitive (`Mm` is not `mm`). Names are not, and may be in the plural or
/// in the spelling `metre`.
const LENGTHS: &[Unit] = &[
    ("angstrom", 1e-10, &["Å", "Å", "ångström", "angström"]),
    ("attometer", 1e-18, &["am"]),
    ("centimeter", 1e-2, &["cm"]),
    ("decimeter", 1e-1, &["dm"]),
    ("exameter", 1e18, &["Em"]),
    ("femtometer", 1e-15, &["fm"]),
    ("foot", 0.3048, &["ft", "feet"]),
    ("gigameter", 1e9, &["Gm"]),
    ("hectometer", 1e2, &["hm"]),
    ("inch", 0.0254, &["in", "inches"]),
    ("kilometer", 1e3, &["km"]),
    ("megameter", 1e6, &["Mm"]),
    ("meter", 1.0, &["m"]),
    // The micro sign, and the letter mu.
    ("micrometer", 1e-6, &["um", "\u{b5}m", "\u{3bc}m", "micron"]),
    ("mile", 1609.344, &["mi"]),
    ("millimeter", 1e-3, &["mm"]),
    ("nanometer", 1e-9, &["nm"]),
    ("parsec", 3.085_677_581_491_367e16, &["pc"]),
    ("petameter", 1e15, &["Pm"]),
    ("picometer", 1e-12, &["pm"]),
    ("terameter", 1e12, &["Tm"]),
    ("yard", 0.9144, &["yd"]),
    ("yoctometer", 1e-24, &["ym"]),
    ("yottameter", 1e24, &["Ym"]),
    ("zeptometer", 1e-21, &["zm"]),
    ("zettameter", 1e21, &["Zm"]),
];

/// Units of time of OME-Zarr 0.4 and 0.5, with the same rules as units of length.
const TIMES: &[Unit] = &[
    ("attosecond", 1e-18, &["as"]),
    ("centisecond", 1e-2, &["cs"]),
    ("day", 86_400.0, &["d"]),
    ("decisecond", 1e-1, &["ds"]),
    ("exasecond", 1e18, &["Es"]),
    ("femtosecond", 1e-15, &["fs"]),
    ("gigasecond", 1e9, &["Gs"]),
    ("hectosecond", 1e2, &["hs"]),
    ("hour", 3600.0, &["h", "hr"]),
    ("kilosecond", 1e3, &["ks"]),
    ("megasecond", 1e6, &["Ms"]),
    ("microsecond", 1e-6, &["us", "\u{b5}s", "\u{3bc}s", "usec"]),
    ("millisecond", 1e-3, &["ms", "msec"]),
    ("minute", 60.0, &["min", "mins"]),
    ("nanosecond", 1e-9, &["ns", "nsec"]),
    ("petasecond", 1e15, &["Ps"]),
    ("picosecond", 1e-12, &["ps", "psec"]),
    ("second", 1.0, &["s", "sec"]),
    ("terasecond", 1e12, &["Ts"]),
    ("yoctosecond", 1e-24, &["ys"]),
    ("yottasecond", 1e24, &["Ys"]),
    ("zeptosecond", 1e-21, &["zs"]),
    ("zettasecond", 1e21, &["Zs"]),
];

/// Finds a unit by name in a table.
fn find(units: &'static [Unit], text: &str) -> Option<&'static Unit> {
    let text = text.trim();
    let word = text.to_lowercase().replace("metre", "meter");
    let singular = word.strip_suffix('s').unwrap_or(&word);
    units.iter().find(|(name, _, others)| {
        [word.as_str(), singular].contains(name)
            || others.iter().any(|other| {
                // Symbols have at most two letters.
                *other == text
                    || other.chars().count() > 2 && [word.as_str(), singular].contains(other)
            })
    })
}

/// The name of a unit of length; `None` for other texts.
#[must_use]
pub fn name(text: &str) -> Option<&'static str> {
    find(LENGTHS, text).map(|(name, ..)| *name)
}

/// The name of a unit of time; `None` for other texts.
#[must_use]
pub fn time_name(text: &str) -> Option<&'static str> {
    find(TIMES, text).map(|(name, ..)| *name)
}

/// The size of a unit of length in metres; `None` for other texts.
#[must_use]
pub fn metres(text: &str) -> Option<f64> {
    find(LENGTHS, text).map(|(_, size, _)| *size)
}

/// The size of a unit of time in seconds; `None` for other texts.
#[must_use]
pub fn seconds(text: &str) -> Option<f64> {
    find(TIMES, text).map(|(_, size, _)| *size)
}

/// Whether two units are the same, by their names if they are known, else by their texts.
#[must_use]
pub fn same(one: &str, other: &str) -> bool {
    let known = |text| name(text).or(time_name(text)).ok_or(text);
    known(one) == known(other)
}

/// The number of units `to` in one unit `from`; `None` if a unit is unknown, or if one is a length and the other a time.
#[must_use]
pub fn factor(from: &str, to: &str) -> Option<f64> {
    if same(from, to) {
        return Some(1.0);
    }
    let lengths = metres(from).zip(metres(to));
    let (from, to) = lengths.or_else(|| seconds(from).zip(seconds(to)))?;
    // Removes the rounding error of dividing two decimal fractions.
    let raw = from / to;
    let short = format!("{raw:.11e}").parse().unwrap_or(raw);
    Some(if (raw / short - 1.0).abs() < 1e-14 {
        short
    } else {
        raw
    })
}

/// The error for a text that is not a unit with an optional number before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoUnit {
    /// The text, quoted.
    pub found: String,
    /// The expected text, with the known units.
    pub expected: String,
}

impl std::fmt::Display for NoUnit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "found {}, expected {}", self.found, self.expected)
    }
}

impl std::error::Error for NoUnit {}

/// Parses a unit of length from user input, with an optional number before it. Returns the number (1 if there is none) and the unit's name.
///
/// # Errors
/// The unit is unknown, or the number is not finite and above 0. The error has the text and the known units.
pub fn parse(text: &str) -> Result<(f64, &'static str), NoUnit> {
    parsed(text, LENGTHS, "a unit of length, such as um or 8nm")
}

/// Parses a unit of time from user input, as [`parse`] does for lengths.
///
/// # Errors
/// As [`parse`].
pub fn parse_time(text: &str) -> Result<(f64, &'static str), NoUnit> {
    parsed(text, TIMES, "a unit of time, such as ms or 30s")
}

fn parsed(
    text: &str,
    units: &'static [Unit],
    expected: &str,
) -> Result<(f64, &'static str), NoUnit> {
    let text = text.trim();
    let wrong = || {
        let names: Vec<&str> = units.iter().map(|(name, ..)| *name).collect();
        NoUnit {
            found: format!("{text:?}"),
            expected: format!("{expected}: {}", names.join(", ")),
        }
    };
    let number = |c: char| c.is_ascii_digit() || c == '.';
    let digits = text.find(|c| !number(c)).unwrap_or(text.len());
    let (mut scale, mut unit) = text.split_at_checked(digits).ok_or_else(wrong)?;
    // An exponent belongs to the number if digits follow it.
    if let Some(rest) = unit.strip_prefix(['e', 'E']) {
        let signed = rest.strip_prefix(['-', '+']).unwrap_or(rest);
        let more = signed
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(signed.len());
        if more > 0 && digits > 0 {
            let end = text.len() - signed.len() + more;
            (scale, unit) = text.split_at_checked(end).ok_or_else(wrong)?;
        }
    }
    let scale = match scale {
        "" => 1.0,
        number => number.parse::<f64>().map_err(|_| wrong())?,
    };
    match find(units, unit) {
        Some((name, ..)) if scale > 0.0 && scale.is_finite() => Ok((scale, name)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_symbols_and_plurals() {
        for (text, wanted) in [
            ("nm", "nanometer"),
            ("nanometers", "nanometer"),
            ("Nanometre", "nanometer"),
            ("um", "micrometer"),
            ("µm", "micrometer"),
            ("μm", "micrometer"),
            ("microns", "micrometer"),
            ("MICROMETER", "micrometer"),
            (" mm ", "millimeter"),
            ("Mm", "megameter"),
            ("Å", "angstrom"),
            ("m", "meter"),
            ("feet", "foot"),
            ("inches", "inch"),
        ] {
            assert_eq!(name(text), Some(wanted), "{text}");
        }
        for text in ["", "NM", "foo", "s", "pixel", "second", "ms", "8"] {
            assert_eq!(name(text), None, "{text}");
        }
        for (known, ..) in LENGTHS {
            assert_eq!(name(known), Some(*known));
            assert_eq!(time_name(known), None);
        }
        for (known, ..) in TIMES {
            assert_eq!(time_name(known), Some(*known));
            assert_eq!(name(known), None);
        }
        for (text, wanted) in [
            ("s", "second"),
            ("ms", "millisecond"),
            ("µs", "microsecond"),
            ("minutes", "minute"),
            ("min", "minute"),
            ("Hours", "hour"),
            ("d", "day"),
        ] {
            assert_eq!(time_name(text), Some(wanted), "{text}");
        }
        for text in ["", "um", "frame", "m", "S"] {
            assert_eq!(time_name(text), None, "{text}");
        }
    }

    #[test]
    fn factors_between_units_are_exact_decimals() {
        for (from, to, wanted) in [
            ("um", "nm", 1e3),
            ("nm", "um", 1e-3),
            ("mm", "nm", 1e6),
            ("angstrom", "nm", 0.1),
            ("foot", "inch", 12.0),
            ("mile", "foot", 5280.0),
            ("m", "ym", 1e24),
            ("min", "s", 60.0),
            ("ms", "s", 1e-3),
            ("day", "hour", 24.0),
            ("um", "micrometer", 1.0),
            ("voxel", "voxel", 1.0),
        ] {
            assert_eq!(factor(from, to), Some(wanted), "{from} {to}");
        }
        assert_eq!(factor("s", "min"), Some(1.0 / 60.0));
        for (from, to) in [("um", "s"), ("voxel", "nm"), ("s", "frame")] {
            assert_eq!(factor(from, to), None, "{from} {to}");
        }
    }

    #[test]
    fn a_number_before_a_unit_is_a_scale() {
        for (text, wanted) in [
            ("8nm", (8.0, "nanometer")),
            ("0.5 um", (0.5, "micrometer")),
            ("1e-3mm", (1e-3, "millimeter")),
            ("2E2 nm", (200.0, "nanometer")),
            ("3Em", (3.0, "exameter")),
            ("millimeter", (1.0, "millimeter")),
        ] {
            assert_eq!(parse(text), Ok(wanted), "{text}");
        }
        for text in [
            "", "8", "0nm", "-8nm", "nan nm", "1.2.3nm", "8 foo", "1e999nm",
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.expected.contains("nanometer, parsec"), "{error}");
        }
    }

    #[test]
    fn units_that_are_not_known_are_compared_as_they_are() {
        assert!(same("um", "micrometer") && same("voxel", "voxel"));
        assert!(!same("voxel", "pixel") && !same("voxel", "mm"));
    }
}
