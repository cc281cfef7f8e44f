//! Makes names of files from names of groups, values of attributes and ids.

use std::collections::{HashMap, HashSet};

/// Longest name in characters, without its ending.
const LONGEST: usize = 100;

/// Names that Windows reserves for devices.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];

/// Replaces all characters except letters and digits of any script, `-`, `_` and `.` by `_`, so that the name is legal on every system.
pub(crate) fn file_name(text: &str) -> String {
    let plain = |c: char| match c {
        '-' | '_' | '.' => c,
        c if c.is_alphanumeric() => c,
        _ => '_',
    };
    let mut name: String = text.trim().chars().take(LONGEST).map(plain).collect();
    while name.ends_with('.') {
        name.pop();
    }
    if name.starts_with('.') || name.is_empty() || is_device(&name) {
        name.insert(0, '_');
    }
    name
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    let stem = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    DEVICES.contains(&stem)
}

/// The key by which case-insensitive systems compare names.
pub(crate) fn folded(name: &str) -> String {
    name.to_lowercase()
}

/// Makes names unique without regard to case: repeated ones get `-2`, `-3` and so on.
pub(crate) fn unique(names: Vec<String>) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::new();
    let mut next: HashMap<String, u64> = HashMap::new();
    let known: HashSet<String> = names.iter().map(|name| folded(name)).collect();
    let mut out = Vec::with_capacity(names.len());
    for name in names {
        let key = folded(&name);
        let mut own = name.clone();
        if taken.contains(&key) {
            let number = next.entry(key).or_insert(2);
            loop {
                own = format!("{name}-{number}");
                *number = number.saturating_add(1);
                let key = folded(&own);
                if !taken.contains(&key) && !known.contains(&key) {
                    break;
                }
            }
        }
        taken.insert(folded(&own));
        out.push(own);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{file_name, unique};

    #[test]
    fn names_are_legal_everywhere() {
        for (text, name) in [
            ("AF_left", "AF_left"),
            ("a/b\\c:d", "a_b_c_d"),
            ("..", "_"),
            (".hidden", "_.hidden"),
            ("../../etc/passwd", "_.._.._etc_passwd"),
            ("", "_"),
            ("CON.x", "_CON.x"),
            ("lpt1", "_lpt1"),
            ("control", "control"),
            ("größe 1", "größe_1"),
            ("end. ", "end"),
        ] {
            assert_eq!(file_name(text), name, "{text:?}");
        }
        assert_eq!(file_name(&"x".repeat(300)).len(), 100);
    }

    #[test]
    fn names_are_unique_without_capital_letters() {
        let names = ["a", "A", "a-2", "b", "a"].map(str::to_owned);
        assert_eq!(unique(names.into()), ["a", "A-3", "a-2", "b", "a-4"]);
    }
}
