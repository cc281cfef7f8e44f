//! The allocator of the program `zvf` and of the wheel: mimalloc 3.
//!
//! Cells are decoded on one thread and freed on another. The system's allocator is slow at that: it took a tenth of the time of a query.
//! Linking this crate makes mimalloc the allocator of the whole program, so libraries never depend on it.
//!
//! By default mimalloc returns freed memory to the system after a second. A scan decodes hundreds of megabytes in that time,
//! so the peak of a program that holds 150 MB was 300 MB; with ten milliseconds it is 220 MB, and no slower (`docs/benchmarks.md`).
//! The delay is an option of the C library without a safe setter. [`free_soon`] sets it, so it is in a crate of its own: all other
//! crates but `zvf-mmap` forbid `unsafe`.
//!
//! ```
//! zvf_alloc::free_soon();
//! let rows = vec![0_u8; 1 << 20];
//! # drop(rows);
//! ```

use std::ffi::c_long;

use libmimalloc_sys::{mi_option_get, mi_option_set, mi_option_t};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of `mimalloc.h`, version 3: the delay in milliseconds after which freed memory is returned to the system.
const PURGE_DELAY: mi_option_t = 15;

/// The default of version 3.
const DEFAULT: c_long = 1000;

/// Makes mimalloc return freed memory to the system after ten milliseconds instead of a second.
///
/// The variable `MIMALLOC_PURGE_DELAY` takes precedence. If the option has an unexpected default, the function does nothing.
///
/// Call it once, before the program starts threads that allocate.
#[allow(
    unsafe_code,
    reason = "options of the C library have no safe function; the condition is on this function"
)]
pub fn free_soon() {
    // SAFETY: both functions read and write one number of a static table, and do nothing for an option that does not exist. They
    // are not synchronised: a thread that allocates meanwhile may see the old or the new number, both of which are valid.
    unsafe {
        if mi_option_get(PURGE_DELAY) == DEFAULT {
            mi_option_set(PURGE_DELAY, 10);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(unsafe_code, reason = "reads the option that is set")]
    fn the_option_is_the_one_that_is_meant() {
        if std::env::var_os("MIMALLOC_PURGE_DELAY").is_some() {
            return;
        }
        // SAFETY: as above; this is the only test.
        let now = || unsafe { mi_option_get(PURGE_DELAY) };
        assert_eq!(now(), DEFAULT);
        free_soon();
        assert_eq!(now(), 10);
    }
}
