//! The allocator of the program `zvf` and of the wheel: mimalloc 3.
//!
//! Cells are decoded on one thread and dropped on another, which the system's allocator does slowly: it cost a tenth of a query.
//! Linking this crate makes mimalloc the allocator of the whole program, so libraries never depend on it.
//!
//! [`configure`] sets two options of mimalloc. It keeps freed memory for a second before the system gets it back: in that second a scan
//! decodes hundreds of megabytes, so the peak of a program that holds 150 MB was 300 MB; with ten milliseconds it is 220 MB and no
//! slower (`docs/benchmarks.md`). And when the program ends, it returns its memory to the system piece by piece, which the system does
//! at once without it. Options of the C library have no safe function: that is why this is a crate of its own, as every other
//! crate but `zvf-mmap` forbids `unsafe`.
//!
//! ```
//! zvf_alloc::configure();
//! let rows = vec![0_u8; 1 << 20];
//! # drop(rows);
//! ```

use std::ffi::c_long;

use libmimalloc_sys::{mi_option_get, mi_option_set, mi_option_t};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of `mimalloc.h`, version 3: after so many milliseconds freed memory goes back to the system.
const PURGE_DELAY: mi_option_t = 15;

/// Its default in version 3.
const DEFAULT: c_long = 1000;

/// `mi_option_destroy_on_exit`: above 1, nothing is done at the end of the process.
const DESTROY_ON_EXIT: mi_option_t = 22;

/// `mi_option_arena_reserve`, in KiB: the option after it.
const ARENA_RESERVE: mi_option_t = 23;

/// Its default.
const RESERVED: c_long = 1 << 20;

/// Returns freed memory to the system after ten milliseconds instead of a second, and leaves the rest to the system at the end of the process.
///
/// The variable `MIMALLOC_PURGE_DELAY` takes precedence. Where the options have other defaults than those of version 3, they are left alone.
///
/// To be called once, before the program starts threads that allocate.
#[allow(
    unsafe_code,
    reason = "options of the C library have no safe function; the condition is on this function"
)]
pub fn configure() {
    // SAFETY: both functions read and write one number of a static table, and do nothing for an option that does not exist. They
    // are not synchronised: a thread that allocates meanwhile may see the old or the new number, both of which are valid.
    unsafe {
        if mi_option_get(PURGE_DELAY) == DEFAULT {
            mi_option_set(PURGE_DELAY, 10);
        }
        if mi_option_get(DESTROY_ON_EXIT) == 0 && mi_option_get(ARENA_RESERVE) == RESERVED {
            mi_option_set(DESTROY_ON_EXIT, 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(unsafe_code, reason = "reads the options that are set")]
    fn the_options_are_the_ones_that_are_meant() {
        if std::env::vars_os().any(|(name, _)| name.to_string_lossy().starts_with("MIMALLOC_")) {
            return;
        }
        // SAFETY: as above; this is the only test.
        let now = |option| unsafe { mi_option_get(option) };
        assert_eq!(now(PURGE_DELAY), DEFAULT);
        assert_eq!(now(ARENA_RESERVE), RESERVED);
        configure();
        assert_eq!(now(PURGE_DELAY), 10);
        assert_eq!(now(DESTROY_ON_EXIT), 2);
    }
}
