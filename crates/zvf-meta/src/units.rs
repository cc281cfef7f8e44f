//! Units of length, by their names in OME-Zarr.
//!
//! ```
//! use zvf_meta::units;
//!
//! assert_eq!(units::name("µm"), Some("micrometer"));
//! assert_eq!(units::parse("8nm"), Ok((8.0, "nanometer")));
//! assert!(units::same("um", "micrometer") && !units::same("um", "mm"));
//! assert!(units::parse("foo").is_err());
//! ```

/// Units of length of OME-Zarr 0.4 and 0.5: the name, then its symbols and further names. Symbols are case-sensitive (`Mm` is no
/// `mm`), names are not, in the spelling `metre` and in the plural, too.
const UNITS: &[(&str, &[&str])] = &[
    ("angstrom", &["Å", "Å", "ångström", "angström"]),
    ("attometer", &["am"]),
    ("centimeter", &["cm"]),
    ("decimeter", &["dm"]),
    ("exameter", &["Em"]),
    ("femtometer", &["fm"]),
    ("foot", &["ft", "feet"]),
    ("gigameter", &["Gm"]),
    ("hectometer", &["hm"]),
    ("inch", &["in", "inches"]),
    ("kilometer", &["km"]),
    ("megameter", &["Mm"]),
    ("meter", &["m"]),
    // The micro sign, and the letter mu.
    ("micrometer", &["um", "\u{b5}m", "\u{3bc}m", "micron"]),
    ("mile", &["mi"]),
    ("millimeter", &["mm"]),
    ("nanometer", &["nm"]),
    ("parsec", &["pc"]),
    ("petameter", &["Pm"]),
    ("picometer", &["pm"]),
    ("terameter", &["Tm"]),
    ("yard", &["yd"]),
    ("yoctometer", &["ym"]),
    ("yottameter", &["Ym"]),
    ("zeptometer", &["zm"]),
    ("zettameter", &["Zm"]),
];

/// The name of a unit of length; `None` for other texts.
#[must_use]
pub fn name(text: &str) -> Option<&'static str> {
    let text = text.trim();
    let word = text.to_lowercase().replace("metre", "meter");
    let singular = word.strip_suffix('s').unwrap_or(&word);
    let found = UNITS.iter().find(|(name, others)| {
        [word.as_str(), singular].contains(name)
            || others.iter().any(|other| {
                // Symbols have at most two letters.
                *other == text
                    || other.chars().count() > 2 && [word.as_str(), singular].contains(other)
            })
    });
    found.map(|(name, _)| *name)
}

/// Whether two units are the same, by their names if they are known, else by their texts.
#[must_use]
pub fn same(one: &str, other: &str) -> bool {
    let known = |text| name(text).ok_or(text);
    known(one) == known(other)
}

/// Parses a unit as a user writes it, with an optional number before it: the number, and the unit's name.
///
/// # Errors
/// The found text and the known units.
pub fn parse(text: &str) -> Result<(f64, &'static str), String> {
    let text = text.trim();
    let wrong = || {
        let names: Vec<&str> = UNITS.iter().map(|(name, _)| *name).collect();
        format!(
            "found {text:?}, expected a unit of length, such as um or 8nm: {}",
            names.join(", ")
        )
    };
    let number = |c: char| c.is_ascii_digit() || c == '.';
    let digits = text.find(|c| !number(c)).unwrap_or(text.len());
    let (mut scale, mut unit) = text.split_at_checked(digits).ok_or_else(wrong)?;
    // An exponent belongs to the number where digits follow it.
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
    match name(unit) {
        Some(name) if scale > 0.0 && scale.is_finite() => Ok((scale, name)),
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
        for (known, _) in UNITS {
            assert_eq!(name(known), Some(*known));
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
            assert!(error.contains("nanometer, parsec"), "{error}");
        }
    }

    #[test]
    fn units_that_are_not_known_are_compared_as_they_are() {
        assert!(same("um", "micrometer") && same("voxel", "voxel"));
        assert!(!same("voxel", "pixel") && !same("voxel", "mm"));
    }
}
