//! The meaning of values beyond type and unit: names of channels, numbers for missing values.

use super::store::AttributeSpec;

impl AttributeSpec {
    /// The names of channels; `None` without names, or if they are the default ones (`ch0`, `ch1`, …).
    #[must_use]
    pub fn stated_channels(&self) -> Option<&[String]> {
        let names = self.channel_names.as_deref()?;
        let mut numbered = names.iter().enumerate();
        let usual = numbered.all(|(at, name)| *name == format!("ch{at}"));
        (!usual).then_some(names)
    }

    /// The description, if it has the form `N is a missing value`, which `zvf import --nulls N` writes; else `None`.
    #[must_use]
    pub fn missing_mark(&self) -> Option<&str> {
        let description = self.description.as_deref()?;
        let number = description.strip_suffix(" is a missing value")?;
        number.parse::<i64>().is_ok().then_some(description)
    }

    /// Compares the channel names, and the numbers for missing values, of two attributes with the same name. Returns the first difference as text for
    /// a message: what this attribute (found) and `own` (expected) state. `None` if they agree, or if one of them states neither.
    #[must_use]
    pub fn other_meaning(&self, own: &Self) -> Option<(String, String)> {
        if let (Some(found), Some(expected)) = (self.stated_channels(), own.stated_channels())
            && found != expected
        {
            let found = format!("the channels {}", found.join(", "));
            return Some((found, format!("the channels {}", expected.join(", "))));
        }
        let (found, expected) = (self.missing_mark()?, own.missing_mark()?);
        (found != expected).then(|| (found.to_owned(), expected.to_owned()))
    }
}
