//! The allocator of the program `zvf` and of the wheel: mimalloc 3.
//!
//! Cells are decoded on one thread and freed on another. The system's allocator is slow in this case: it took a tenth of the time of a
//! query. A program sets [`MiMalloc`] as its allocator with its own `#[global_allocator]`; libraries never do.
//!
//! [`configure`] sets two options of mimalloc. By default, mimalloc returns freed memory to the system after a second. A scan decodes
//! hundreds of megabytes in that time, so the peak of a program that holds 150 MB was 300 MB; with a tenth of a second it is 200 MB
//! (`docs/benchmarks.md`). By default, it also returns its memory piece by piece when the process ends, although the system
//! then frees all of it at once. These options of the C library have no safe setter.
//!
//! The feature `dynamic-tls` is for the wheel. Without it, mimalloc finds its thread-local variables at fixed offsets, which is faster. But
//! a library that does so (`STATIC_TLS` in its ELF header) takes part of a small area that all libraries of a process share. If others have
//! used it up, `import zvf` fails: "cannot allocate memory in static TLS block". `python/tests/test_beside.py` reads the header.
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: zvf_sys::allocator::MiMalloc = zvf_sys::allocator::MiMalloc;
//!
//! fn main() {
//!     zvf_sys::allocator::configure();
//!     let rows = vec![0_u8; 1 << 20];
//! #   drop(rows);
//! }
//! ```

use std::ffi::c_long;

use libmimalloc_sys::{mi_option_get, mi_option_set, mi_option_t};
pub use mimalloc::MiMalloc;

/// `mi_option_purge_delay` of `mimalloc.h`, version 3: the delay in milliseconds after which freed memory is returned to the system.
const PURGE_DELAY: mi_option_t = 15;

/// The default of version 3.
const DEFAULT: c_long = 1000;

/// `mi_option_destroy_on_exit`: above 1, mimalloc does nothing when the process ends.
const DESTROY_ON_EXIT: mi_option_t = 22;

/// `mi_option_arena_reserve`, in KiB: the option after `mi_option_destroy_on_exit`.
const ARENA_RESERVE: mi_option_t = 23;

/// The default of `mi_option_arena_reserve`.
const RESERVED: c_long = 1 << 20;

/// Makes mimalloc return freed memory to the system after a tenth of a second instead of a second, and leave its memory to the system when the
/// process ends.
///
/// The variable `MIMALLOC_PURGE_DELAY` takes precedence. If an option has an unexpected default, the function does not set it.
///
/// Call it once, before the program starts threads that allocate.
#[allow(
    unsafe_code,
    reason = "options of the C library have no safe function; the condition is on this function"
)]
pub fn configure() {
    // SAFETY: both functions read and write one number of a static table, and do nothing for an option that does not exist. They
    // are not synchronised: a thread that allocates meanwhile may see the old or the new number, both of which are valid.
    unsafe {
        if mi_option_get(PURGE_DELAY) == DEFAULT {
            mi_option_set(PURGE_DELAY, 100);
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
    fn the_numbers_of_the_options_are_right() {
        if std::env::vars_os().any(|(name, _)| name.to_string_lossy().starts_with("MIMALLOC_")) {
            return;
        }
        // SAFETY: as above; this is the only test.
        let now = |option| unsafe { mi_option_get(option) };
        assert_eq!(now(PURGE_DELAY), DEFAULT);
        assert_eq!(now(ARENA_RESERVE), RESERVED);
        configure();
        assert_eq!(now(PURGE_DELAY), 100);
        assert_eq!(now(DESTROY_ON_EXIT), 2);
    }
}
