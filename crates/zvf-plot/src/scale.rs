//! Round numbers: ticks of a colour bar, the length of a scale bar, and their text.

/// Units of length of scale bars: the name, the symbol, and the size in metres.
const METRIC: &[(&str, &str, f64)] = &[
    ("angstrom", "Å", 1e-10),
    ("picometer", "pm", 1e-12),
    ("nanometer", "nm", 1e-9),
    ("micrometer", "µm", 1e-6),
    ("millimeter", "mm", 1e-3),
    ("centimeter", "cm", 1e-2),
    ("meter", "m", 1.0),
    ("kilometer", "km", 1e3),
];

/// Symbols that lengths are converted to, from small to large.
const WRITTEN: [&str; 6] = ["pm", "nm", "µm", "mm", "m", "km"];

fn metric(unit: &str) -> Option<(&'static str, f64)> {
    let name = zvf_meta::units::name(unit)?;
    let found = METRIC.iter().find(|(one, ..)| *one == name);
    found.map(|(_, symbol, meters)| (*symbol, *meters))
}

/// A length as text: in a unit in which the number is from 1 to 1000, if the unit is known.
pub(crate) fn length(value: f64, unit: Option<&str>) -> String {
    let Some(unit) = unit else {
        return number(value);
    };
    let Some((symbol, meters)) = metric(unit) else {
        return format!("{} {unit}", number(value));
    };
    if (1.0..1000.0).contains(&value) {
        return format!("{} {symbol}", number(value));
    }
    let written = METRIC
        .iter()
        .filter(|(_, symbol, _)| WRITTEN.contains(symbol))
        .find(|(_, _, one)| (1.0..999.5).contains(&(value * meters / one)));
    match written {
        Some((_, symbol, one)) => format!("{} {symbol}", number(value * meters / one)),
        None => format!("{} {symbol}", number(value)),
    }
}

/// A number as a short text.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e6).contains(&size) {
        let text = format!("{value:.2e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", trimmed(digits));
    }
    let decimals = (3 - size.log10().floor() as i32).clamp(0, 6);
    let text = format!("{value:.*}", usize::try_from(decimals).unwrap_or(0));
    trimmed(&text).to_owned()
}

/// The text of a sum with all digits; sums of integers are exact also beyond 2^53.
pub(crate) fn sum(a: f64, b: f64) -> String {
    let whole = |one: f64| one.fract() == 0.0 && one.abs() < 2e19;
    match whole(a) && whole(b) {
        true => (a as i128 + b as i128).to_string(),
        false => (a + b).to_string(),
    }
}

fn trimmed(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

/// The largest of 1, 2 and 5 times a power of ten that does not exceed a number.
pub(crate) fn round_down(value: f64) -> f64 {
    if value.is_nan() || value <= 0.0 || value.is_infinite() {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    // Tolerates rounding errors up to a millionth.
    let times = value / power * 1.000_001;
    let digit = [10.0, 5.0, 2.0].into_iter().find(|one| *one <= times);
    digit.unwrap_or(1.0) * power
}

/// Round numbers in a range, about `count` of them.
pub(crate) fn ticks(low: f64, high: f64, count: u32) -> Vec<f64> {
    let span = high - low;
    if !span.is_finite() || span <= 0.0 {
        return vec![low];
    }
    let step = round_down(span / f64::from(count.max(1)) * 1.5);
    let first = (low / step - 1e-9).ceil();
    let mut found = Vec::new();
    for number in 0..u32::from(u8::MAX) {
        let tick = (first + f64::from(number)) * step;
        if tick > high + step * 1e-9 {
            break;
        }
        // Avoids -0 and 0.30000000000000004.
        found.push(if tick.abs() < step * 1e-9 { 0.0 } else { tick });
    }
    found
}

/// Powers of ten from 1 to at most a number, followed by the number itself if it is more than 2.5 times the last power.
pub(crate) fn powers(most: f64) -> Vec<f64> {
    let mut found: Vec<f64> = (0..20)
        .map(|power| 10_f64.powi(power))
        .take_while(|one| *one <= most)
        .collect();
    if found.last().is_none_or(|last| most / last > 2.5) {
        found.push(most);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_round_and_have_units() {
        assert_eq!(length(2000.0, Some("nanometer")), "2 µm");
        assert_eq!(length(20.0, Some("um")), "20 µm");
        assert_eq!(length(0.5, Some("millimeter")), "500 µm");
        assert_eq!(length(5.0, Some("parsec")), "5 parsec");
        assert_eq!(length(50_000.0, None), "50000");
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (-12.5, "-12.5"),
            (0.3, "0.3"),
            (1234.5678, "1235"),
            (123_456.0, "123456"),
            (2.5e9, "2.5e9"),
            (1e-5, "1e-5"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(round_down(0.99), 0.5);
        assert_eq!(round_down(1.0), 1.0);
        assert_eq!(round_down(370.0), 200.0);
        assert_eq!(
            ticks(0.0, 1.0, 5),
            [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]
        );
        assert_eq!(ticks(-7.0, 13.0, 4), [-5.0, 0.0, 5.0, 10.0]);
        assert_eq!(ticks(3.0, 3.0, 4), [3.0]);
        assert_eq!(powers(250.0), [1.0, 10.0, 100.0]);
        assert_eq!(powers(900.0), [1.0, 10.0, 100.0, 900.0]);
    }
}
