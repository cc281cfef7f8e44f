//! Parses dates in conditions.

use zvf_store::format::dtype::{DType, DTypeKind, TimeUnit};

use super::expr::Literal;
use super::operand::float;
use crate::QueryError;

/// A date, `YYYY-MM-DD` with or without `THH:MM[:SS[.fraction]]` and `Z`, as a number of a unit since 1970.
///
/// # Errors
///
/// Misuse: an invalid date, or a unit that is not a length of time.
pub(super) fn literal(text: &str, unit: TimeUnit) -> Result<Literal, QueryError> {
    let wrong = || {
        QueryError::misuse(format!(
            "where: found the text '{text}' beside a date, expected one such as '2024-05-31' or '2024-05-31T12:30:00'"
        ))
    };
    let (date, nanos) = parse(text).ok_or_else(wrong)?;
    let (year, month, day) = date;
    let months = i128::from(year - 1970) * 12 + i128::from(month - 1);
    // A date within a month or year is between two numbers.
    let inside = if (day, nanos) == (1, 0) { 0.0 } else { 0.5 };
    let per = match unit {
        TimeUnit::Year if month == 1 && inside == 0.0 => return Ok(Literal::Int(months / 12)),
        TimeUnit::Year => {
            return Ok(Literal::Float(float(months.div_euclid(12)) + 0.5));
        }
        TimeUnit::Month if inside == 0.0 => return Ok(Literal::Int(months)),
        TimeUnit::Month => return Ok(Literal::Float(float(months) + inside)),
        TimeUnit::Week => 7 * 86_400 * ATTOS,
        TimeUnit::Day => 86_400 * ATTOS,
        TimeUnit::Hour => 3600 * ATTOS,
        TimeUnit::Minute => 60 * ATTOS,
        TimeUnit::Second => ATTOS,
        TimeUnit::Millisecond => ATTOS / 1000,
        TimeUnit::Microsecond => ATTOS / 1_000_000,
        TimeUnit::Nanosecond => ATTOS / 1_000_000_000,
        TimeUnit::Picosecond => 1_000_000,
        TimeUnit::Femtosecond => 1000,
        TimeUnit::Attosecond => 1,
        TimeUnit::Generic => {
            return Err(QueryError::misuse(
                "where: found a text beside times without a unit, expected a number",
            ));
        }
    };
    let attos = i128::from(days(date)) * 86_400 * ATTOS + nanos * (ATTOS / 1_000_000_000);
    if attos % per == 0 {
        return Ok(Literal::Int(attos / per));
    }
    // A moment within a step of the unit is between two numbers, and a float64 up to 2^52 has halves.
    let before = attos.div_euclid(per);
    if before.unsigned_abs() >= 1 << 52 {
        return Err(QueryError::misuse(format!(
            "where: found the text '{text}' beside values of {}, expected a whole number of their unit",
            DType::little(DTypeKind::Datetime { unit })
        )));
    }
    Ok(Literal::Float(float(before) + 0.5))
}

/// Attoseconds of a second.
const ATTOS: i128 = 1_000_000_000_000_000_000;

type Date = (i64, i64, i64);

/// The date, and the nanoseconds of the day.
fn parse(text: &str) -> Option<(Date, i128)> {
    let text = text.trim();
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let number = |text: &str, lengths: &[usize]| -> Option<i64> {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let fits = digits && lengths.contains(&text.len());
        fits.then(|| text.parse().ok())?
    };
    let (before, date) = match date.strip_prefix('-') {
        Some(date) => (true, date),
        None => (false, date),
    };
    let mut parts = date.splitn(3, '-');
    let year = number(parts.next()?, &[4, 5, 6])?;
    let month = number(parts.next()?, &[2])?;
    let day = number(parts.next()?, &[2])?;
    let year = if before { -year } else { year };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let most = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=most).contains(&day) {
        return None;
    }
    let Some(time) = time else {
        return Some(((year, month, day), 0));
    };
    let mut parts = time.splitn(3, ':');
    let hour = number(parts.next()?, &[2]).filter(|hour| *hour < 24)?;
    let minute = number(parts.next()?, &[2]).filter(|minute| *minute < 60)?;
    let (seconds, fraction) = match parts.next() {
        None => (0, 0),
        Some(seconds) => {
            let (whole, part) = seconds.split_once('.').unwrap_or((seconds, "0"));
            let seconds = number(whole, &[2]).filter(|seconds| *seconds < 60)?;
            let part =
                number(part, &[1, 2, 3, 4, 5, 6, 7, 8, 9]).zip(u32::try_from(part.len()).ok());
            let (part, digits) = part?;
            (
                seconds,
                part * 10_i64.checked_pow(9_u32.checked_sub(digits)?)?,
            )
        }
    };
    let seconds = hour * 3600 + minute * 60 + seconds;
    let nanos = i128::from(seconds) * 1_000_000_000 + i128::from(fraction);
    Some(((year, month, day), nanos))
}

/// Days since 1970-01-01, of the Gregorian calendar.
fn days((year, month, day): Date) -> i64 {
    // Years start in March, so that leap days are at their ends.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_numbers_of_their_unit() {
        for (text, unit, number) in [
            ("1970-01-01", TimeUnit::Nanosecond, 0),
            ("1969-12-31", TimeUnit::Day, -1),
            ("2024-02-29", TimeUnit::Day, 19_782),
            (
                "2024-05-31T12:30:01.5Z",
                TimeUnit::Millisecond,
                1_717_158_601_500,
            ),
            ("2024-05-31 12:30", TimeUnit::Second, 1_717_158_600),
            ("2000-03-01", TimeUnit::Month, 362),
            ("1968-01-01", TimeUnit::Year, -2),
            ("-0001-01-01", TimeUnit::Day, -719_893),
        ] {
            assert_eq!(literal(text, unit).unwrap(), Literal::Int(number), "{text}");
        }
        assert_eq!(
            literal("1970-01-01T12:00", TimeUnit::Day).unwrap(),
            Literal::Float(0.5)
        );
        assert_eq!(
            literal("1971-02-03", TimeUnit::Year).unwrap(),
            Literal::Float(1.5)
        );
        // Between two numbers of the unit, however near to one of them.
        for (text, unit, number) in [
            ("1970-01-01T23:59:59", TimeUnit::Day, 0.5),
            ("1969-12-31T23:59:59", TimeUnit::Day, -0.5),
            (
                "2024-05-31T12:30:00.000000001",
                TimeUnit::Millisecond,
                1_717_158_600_000.5,
            ),
            (
                "2024-05-31T12:29:59.999999999",
                TimeUnit::Microsecond,
                1_717_158_599_999_999.5,
            ),
        ] {
            assert_eq!(
                literal(text, unit).unwrap(),
                Literal::Float(number),
                "{text}"
            );
        }
        // float64 has no number between two microseconds of that time.
        let (micro, late) = (TimeUnit::Microsecond, "2500-01-01T00:00:00.000000001");
        let error = literal(late, micro).unwrap_err().to_string();
        assert!(error.contains("datetime64[us]"), "{error}");
        assert!(literal("2500-01-01T00:00:00.000001", micro).is_ok());
    }

    #[test]
    fn invalid_dates_are_refused() {
        for wrong in [
            "",
            "2024",
            "2024-13-01",
            "2023-02-29",
            "2024-1-1",
            "2024-01-01T25:00",
            "2024-01-01T10",
            "2024-01-01T10:00:00.0123456789",
            "yesterday",
            "2024-01-01T10:00+02:00",
        ] {
            assert!(literal(wrong, TimeUnit::Second).is_err(), "{wrong}");
        }
    }
}
