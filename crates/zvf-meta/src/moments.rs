//! Units that mark 64-bit integers as moments, dates, times of day or durations, and the valid numbers for each unit.
//!
//! ```
//! use zvf_meta::moments::Moments;
//!
//! let days = Moments::of_unit("days since 1970-01-01").unwrap();
//! assert!(days.holds(19_782) && !days.holds(99_999_999_999));
//! let time = Moments::of_unit("seconds since midnight").unwrap();
//! assert!(time.holds(86_399) && !time.holds(-1) && time.holds(i64::MIN));
//! assert!(Moments::of_unit("millimeter").is_none());
//! ```

use zvf_format::dtype::{DTypeKind, TimeUnit};

/// The number that marks a missing moment, as in NumPy.
pub const MISSING: i64 = i64::MIN;

/// Milliseconds in a day.
const DAY: i64 = 86_400_000;

/// Units of time, each with its number per second.
const UNITS: [(&str, i64); 4] = [
    ("seconds", 1),
    ("milliseconds", 1_000),
    ("microseconds", 1_000_000),
    ("nanoseconds", 1_000_000_000),
];

/// The meaning of the numbers of an attribute with such a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moments {
    /// Days since 1970: 32 bits, as in Arrow.
    Days,
    /// Milliseconds since 1970, of whole days.
    DaysInMilliseconds,
    /// Times of day, with the number of units per second.
    TimeOfDay(i64),
    /// Moments and durations: any number.
    Any,
}

impl Moments {
    /// The meaning of numbers with this unit; `None` if it is not a unit of this module.
    #[must_use]
    pub fn of_unit(unit: &str) -> Option<Self> {
        match unit {
            "days since 1970-01-01" => return Some(Self::Days),
            "milliseconds since 1970-01-01" => return Some(Self::DaysInMilliseconds),
            _ => {}
        }
        let (first, rest) = unit.split_once(' ')?;
        let (_, per_second) = UNITS.iter().find(|(word, _)| *word == first)?;
        if rest == "since midnight" {
            return Some(Self::TimeOfDay(*per_second));
        }
        let zone = rest.strip_prefix("since 1970-01-01T00:00:00");
        let known = |zone: &str| matches!(zone, "" | "Z") || zone.starts_with("Z in ");
        (rest == "of duration" || zone.is_some_and(known)).then_some(Self::Any)
    }

    /// The type of 64-bit integers with this unit: `datetime64` for dates and moments, `timedelta64` for times of day and durations. In both, the
    /// smallest number means missing. `None` if it is not a unit of this module.
    ///
    /// ```
    /// use zvf_format::dtype::{DTypeKind, TimeUnit};
    /// use zvf_meta::moments::Moments;
    ///
    /// let kind = Moments::kind_of_unit("days since 1970-01-01");
    /// assert_eq!(kind, Some(DTypeKind::Datetime { unit: TimeUnit::Day }));
    /// ```
    #[must_use]
    pub fn kind_of_unit(text: &str) -> Option<DTypeKind> {
        let moments = Self::of_unit(text)?;
        let unit = match text.split(' ').next()? {
            "days" => TimeUnit::Day,
            "seconds" => TimeUnit::Second,
            "milliseconds" => TimeUnit::Millisecond,
            "microseconds" => TimeUnit::Microsecond,
            "nanoseconds" => TimeUnit::Nanosecond,
            _ => return None,
        };
        Some(match moments {
            Self::Days | Self::DaysInMilliseconds => DTypeKind::Datetime { unit },
            Self::Any if text.contains(" since ") => DTypeKind::Datetime { unit },
            Self::Any | Self::TimeOfDay(_) => DTypeKind::Timedelta { unit },
        })
    }

    /// The unit of 64-bit integers of a type, from its NumPy name: `datetime64[D]`, `[s]`, `[ms]`, `[us]` or `[ns]`, `timedelta64` with the last
    /// four, and `date` for days. `None` for other types.
    ///
    /// ```
    /// use zvf_meta::moments::Moments;
    ///
    /// assert_eq!(Moments::unit_of_type("date").as_deref(), Some("days since 1970-01-01"));
    /// assert_eq!(Moments::unit_of_type("timedelta64[s]").as_deref(), Some("seconds of duration"));
    /// ```
    #[must_use]
    pub fn unit_of_type(name: &str) -> Option<String> {
        if ["date", "datetime64[D]"].contains(&name) {
            return Some("days since 1970-01-01".to_owned());
        }
        let (kind, unit) = name.strip_suffix(']')?.split_once('[')?;
        let symbols = ["s", "ms", "us", "ns"].into_iter().zip(UNITS);
        let (_, (word, _)) = symbols.into_iter().find(|(symbol, _)| *symbol == unit)?;
        match kind {
            "datetime64" => Some(format!("{word} since 1970-01-01T00:00:00")),
            "timedelta64" => Some(format!("{word} of duration")),
            _ => None,
        }
    }

    /// Whether a number is valid for this meaning, or denotes a missing value.
    #[must_use]
    pub fn holds(self, number: i64) -> bool {
        number == MISSING
            || match self {
                Self::Days => i32::try_from(number).is_ok(),
                Self::DaysInMilliseconds => number % DAY == 0,
                // 24:00:00 is a time of day of ISO 8601 and of databases.
                Self::TimeOfDay(per_second) => (0..=86_400 * per_second).contains(&number),
                Self::Any => true,
            }
    }

    /// The expected numbers, for messages.
    #[must_use]
    pub fn expected(self) -> &'static str {
        match self {
            Self::Days => "days that 32 bits hold, or -9223372036854775808 for a missing date",
            Self::DaysInMilliseconds => {
                "milliseconds of whole days, multiples of 86400000, or -9223372036854775808 for a missing date"
            }
            Self::TimeOfDay(_) => {
                "a time of day, from 0 to 24 hours, or -9223372036854775808 for a missing time"
            }
            Self::Any => "a whole number",
        }
    }

    /// The first number that is not valid for this meaning, and its index.
    #[must_use]
    pub fn first_odd(self, numbers: impl IntoIterator<Item = i64>) -> Option<(usize, i64)> {
        if self == Self::Any {
            return None;
        }
        let mut numbers = numbers.into_iter().enumerate();
        numbers.find(|(_, number)| !self.holds(*number))
    }
}

/// The origin from which numbers with a unit are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// 1970, without a time zone.
    Local,
    /// 1970 in UTC, regardless of the time zone for display.
    Utc,
    Midnight,
    /// None: a duration.
    Nothing,
}

/// An exact conversion between two units of moments, dates, times of day or durations.
///
/// ```
/// use zvf_meta::moments::{MISSING, MomentScale};
///
/// let days = "days since 1970-01-01";
/// let to = MomentScale::between("nanoseconds since 1970-01-01T00:00:00", days).unwrap();
/// assert_eq!(to.apply(2 * 86_400_000_000_000), Some(2));
/// assert_eq!(to.apply(MISSING), Some(MISSING));
/// assert_eq!(to.apply(1), None); // less than a day
/// assert!(MomentScale::between("seconds of duration", days).is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MomentScale {
    multiply: i64,
    divide: i64,
    to: Moments,
}

impl MomentScale {
    /// The conversion from one unit to another. `None` if one of them is not a unit of this module, or if their origins differ: moments
    /// with and without a time zone cannot be converted.
    #[must_use]
    pub fn between(from: &str, to: &str) -> Option<Self> {
        let (origin, divide) = Self::of(from)?;
        let (other, multiply) = Self::of(to)?;
        (origin == other).then_some(())?;
        Some(Self {
            multiply,
            divide,
            to: Moments::of_unit(to)?,
        })
    }

    /// The common unit of numbers with two units: the finer one, in the time zone of the first. `None` as for [`between`](Self::between).
    ///
    /// ```
    /// use zvf_meta::moments::MomentScale;
    ///
    /// let both = |a, b| MomentScale::common_unit(a, b);
    /// let seconds = "seconds since 1970-01-01T00:00:00";
    /// let milliseconds = "milliseconds since 1970-01-01T00:00:00";
    /// assert_eq!(both(seconds, milliseconds).as_deref(), Some(milliseconds));
    /// assert_eq!(both("days since 1970-01-01", seconds).as_deref(), Some(seconds));
    /// assert_eq!(both(seconds, "seconds of duration"), None);
    /// ```
    #[must_use]
    pub fn common_unit(a: &str, b: &str) -> Option<String> {
        let ((origin, of_a), (other, of_b)) = (Self::of(a)?, Self::of(b)?);
        (origin == other).then_some(())?;
        let finer = if of_b > of_a { b } else { a };
        let is_date = |unit: &str| Moments::of_unit(unit) != Some(Moments::Any);
        let (word, _) = finer.split_once(' ')?;
        match origin {
            Origin::Utc => {
                let (_, zone) = a.split_once(' ')?;
                Some(format!("{word} {zone}"))
            }
            // A unit of dates allows only whole days, so the common unit of dates and moments is one of moments.
            Origin::Local if is_date(a) != is_date(b) => {
                Some(format!("{word} since 1970-01-01T00:00:00"))
            }
            _ => Some(finer.to_owned()),
        }
    }

    /// The origin of a unit, and the number of units in a day.
    fn of(unit: &str) -> Option<(Origin, i64)> {
        let (first, rest) = unit.split_once(' ')?;
        let each = match Moments::of_unit(unit)? {
            Moments::Days => return Some((Origin::Local, 1)),
            _ => UNITS.iter().find(|(word, _)| *word == first)?.1,
        };
        let origin = match rest {
            "since 1970-01-01" | "since 1970-01-01T00:00:00" => Origin::Local,
            "since midnight" => Origin::Midnight,
            "of duration" => Origin::Nothing,
            _ => Origin::Utc,
        };
        Some((origin, each * 86_400))
    }

    /// Converts a number; `None` if the other unit cannot represent it exactly. A missing moment stays missing.
    #[must_use]
    pub fn apply(self, number: i64) -> Option<i64> {
        if number == MISSING {
            return Some(MISSING);
        }
        let (multiply, divide) = (i128::from(self.multiply), i128::from(self.divide));
        let product = i128::from(number) * multiply;
        let whole = product % divide == 0;
        let number = i64::try_from(product / divide).ok().filter(|_| whole)?;
        (number != MISSING && self.to.holds(number)).then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::{MISSING, MomentScale, Moments};

    #[test]
    fn scales_are_exact_and_keep_the_origin() {
        let local = "since 1970-01-01T00:00:00";
        let between = |from: &str, to: &str| MomentScale::between(from, to);
        let to = between(
            &format!("seconds {local}"),
            &format!("microseconds {local}"),
        )
        .unwrap();
        assert_eq!((to.apply(-3), to.apply(i64::MAX)), (Some(-3_000_000), None));
        let to = between("milliseconds since 1970-01-01", "days since 1970-01-01").unwrap();
        assert_eq!(
            (to.apply(86_400_000), to.apply(86_400_001)),
            (Some(1), None)
        );
        let to = between("seconds since midnight", "nanoseconds since midnight").unwrap();
        assert_eq!(
            (to.apply(86_400), to.apply(86_401)),
            (Some(86_400_000_000_000), None)
        );
        let berlin = format!("seconds {local}Z in Europe/Berlin");
        let both = |a: &str, b: &str| MomentScale::common_unit(a, b);
        let finer = both(&berlin, &format!("microseconds {local}Z"));
        assert_eq!(
            finer,
            Some(format!("microseconds {local}Z in Europe/Berlin"))
        );
        let dates = "milliseconds since 1970-01-01";
        let moments = Some(format!("milliseconds {local}"));
        assert_eq!(both(dates, &format!("seconds {local}")), moments);
        assert_eq!(both(&format!("milliseconds {local}"), dates), moments);
        assert_eq!(both("days since 1970-01-01", dates).as_deref(), Some(dates));
        assert_eq!(both(&berlin, dates), None);
        assert!(between(&berlin, &format!("seconds {local}Z")).is_some());
        for (from, to) in [
            (berlin.as_str(), "days since 1970-01-01"),
            ("seconds of duration", "seconds since midnight"),
            ("um", "um"),
        ] {
            assert_eq!(between(from, to), None, "{from} {to}");
        }
    }

    #[test]
    fn units_allow_what_arrow_and_texts_can_hold() {
        let of = |unit: &str| Moments::of_unit(unit).unwrap();
        let days = of("days since 1970-01-01");
        for (number, holds) in [
            (i64::from(i32::MAX), true),
            (i64::from(i32::MIN), true),
            (i64::from(i32::MAX) + 1, false),
            (MISSING, true),
            (MISSING + 1, false),
        ] {
            assert_eq!(days.holds(number), holds, "{number}");
        }
        let dates = of("milliseconds since 1970-01-01");
        assert!(dates.holds(-86_400_000) && dates.holds(0) && !dates.holds(1));
        for (unit, day) in [
            ("seconds", 86_400),
            ("milliseconds", 86_400_000),
            ("microseconds", 86_400_000_000),
            ("nanoseconds", 86_400_000_000_000),
        ] {
            let unit_of_time = format!("{unit} since midnight");
            let time = of(&unit_of_time);
            assert!(time.holds(0) && time.holds(day) && time.holds(MISSING));
            assert!(!time.holds(-1) && !time.holds(day + 1));
            for any in [
                "since 1970-01-01T00:00:00",
                "since 1970-01-01T00:00:00Z in Europe/Berlin",
                "of duration",
            ] {
                let unit = format!("{unit} {any}");
                assert_eq!(of(&unit), Moments::Any);
            }
        }
        assert_eq!(
            days.first_odd([1, MISSING, 1 << 40, 1 << 41]),
            Some((2, 1 << 40))
        );
        for none in [
            "seconds",
            "second",
            "days since 1900-01-01",
            "seconds since 1970-01-01T00:00:00+02:00",
            "seconds since 1970-01-01T00:00:00.5",
            "um",
            "",
        ] {
            assert_eq!(Moments::of_unit(none), None, "{none}");
        }
    }
}
