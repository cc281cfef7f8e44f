//! The memory budget, `spec/tet-v1.md` 9, from the requests of the caller and of the file.

use crate::layout::IndexHeader;

/// The memory that the caller requests; all unset by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budget {
    /// Bytes; 0 means 1.
    pub bytes: Option<u64>,
    /// 1/100 percent of the free memory, at most 10 000; 0 means unset.
    pub percent_bps: Option<u16>,
}

/// The budget if the available memory is unknown.
const FALLBACK: u64 = 256 << 20;

impl Budget {
    /// The budget in bytes: the first that is set of the caller's bytes, the file's bytes, the caller's percent, and
    /// the file's percent. If none is set, a quarter of `available`. If `available` is unknown, 256 MiB instead of any share of it.
    ///
    /// A file never gets more than `available`, or 256 MiB if that is unknown, so that a file cannot allow itself to be decompressed to any
    /// size. The reference accepts up to 655 percent from a file.
    #[must_use]
    pub fn resolve(&self, header: Option<&IndexHeader>, available: Option<u64>) -> u64 {
        if let Some(bytes) = self.bytes {
            return bytes.max(1);
        }
        let file_bytes = header.map_or(0, |header| header.memory_budget_bytes.get());
        if file_bytes != 0 {
            return u64::from(file_bytes).min(available.unwrap_or(FALLBACK));
        }
        let Some(available) = available else {
            return FALLBACK;
        };
        let own = self.percent_bps.map_or(0, |bps| bps.min(10_000));
        let file = header.map_or(0, |header| header.memory_budget_percent_bps.get());
        let bps = [own, file, 2500].into_iter().find(|bps| *bps != 0);
        let share = u128::from(available) * u128::from(bps.unwrap_or(2500)) / 10_000;
        u64::try_from(share).unwrap_or(u64::MAX).min(available)
    }
}

/// Memory that programs can get without swapping: `MemAvailable` on Linux; `None` elsewhere.
#[must_use]
pub fn available_memory() -> Option<u64> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::Budget;
    use crate::layout::{INDEX_MAGIC, INDEX_VERSION, IndexHeader};

    fn header(bytes: u32, bps: u16) -> IndexHeader {
        IndexHeader {
            magic: INDEX_MAGIC,
            index_version: INDEX_VERSION.into(),
            entry_count: 0.into(),
            memory_budget_percent_bps: bps.into(),
            reserved: 0.into(),
            memory_budget_bytes: bytes.into(),
            reserved_tail: 0.into(),
        }
    }

    #[test]
    fn the_first_budget_that_is_set_applies() {
        let none = Budget::default();
        let percent = Budget {
            percent_bps: Some(1000),
            ..none
        };
        let bytes = Budget {
            bytes: Some(7),
            ..percent
        };
        for (budget, file, wanted) in [
            (none, header(0, 0), 250),
            (none, header(0, 5000), 500),
            (percent, header(0, 5000), 100),
            (percent, header(300, 5000), 300),
            (bytes, header(300, 5000), 7),
        ] {
            assert_eq!(budget.resolve(Some(&file), Some(1000)), wanted);
        }
        assert_eq!(none.resolve(None, None), 256 << 20);
    }

    #[test]
    fn a_file_gets_at_most_the_available_memory() {
        let none = Budget::default();
        for file in [header(u32::MAX, 0), header(0, u16::MAX)] {
            assert_eq!(none.resolve(Some(&file), Some(1000)), 1000);
            assert_eq!(none.resolve(Some(&file), None), 256 << 20);
        }
    }
}
