//! Counts and sizes in texts for people.

/// A count with its digits in groups of three: `1 234 567`.
#[must_use]
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// A count with its noun, plural unless it is one.
#[must_use]
pub fn counted(n: u64, one: &str) -> String {
    let plural = match one {
        _ if n == 1 => one.to_owned(),
        "vertex" => "vertices".to_owned(),
        "category" => "categories".to_owned(),
        "batch" => "batches".to_owned(),
        "fragment index" => "fragment indexes".to_owned(),
        other => format!("{other}s"),
    };
    format!("{} {plural}", count(n))
}

/// A size in bytes: `512 B`, `1.4 MiB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    // Tenths of the unit in whole numbers; exact enough for two digits.
    let (unit, shift) = match bytes {
        0..=1_048_575 => ("KiB", 10),
        1_048_576..=1_073_741_823 => ("MiB", 20),
        1_073_741_824..=1_099_511_627_775 => ("GiB", 30),
        _ => ("TiB", 40),
    };
    let tenths = (u128::from(bytes) * 10) >> shift;
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_sizes() {
        assert_eq!(
            (count(0), count(999), count(1_234_567)),
            ("0".into(), "999".into(), "1 234 567".into())
        );
        assert_eq!(
            (
                counted(1, "vertex"),
                counted(2, "vertex"),
                counted(0, "link")
            ),
            ("1 vertex".into(), "2 vertices".into(), "0 links".into())
        );
        assert_eq!(
            (size(1023), size(1536), size(5 << 30), size(u64::MAX)),
            (
                "1023 B".into(),
                "1.5 KiB".into(),
                "5.0 GiB".into(),
                "16777215.9 TiB".into()
            )
        );
    }
}
