//! The functions of memory that the compiler may call on any target: a freestanding program has to bring them.
//!
//! Loops over volatile bytes, so that the compiler does not turn them into calls of themselves. Other crates need nothing
//! else: every further symbol would be one of `std`, of a heap or of libc, and the link fails.

/// Copies `count` bytes between places that do not overlap.
///
/// # Safety
/// As of the C function: both places are that long.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    for at in 0..count {
        // SAFETY: the caller promises that both places have `count` bytes.
        unsafe { to.add(at).write_volatile(from.add(at).read_volatile()) };
    }
    to
}

/// Copies `count` bytes between places that may overlap.
///
/// # Safety
/// As of the C function: both places are that long.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    let forward = to.addr() <= from.addr();
    for turn in 0..count {
        let at = if forward { turn } else { count - 1 - turn };
        // SAFETY: the caller promises that both places have `count` bytes.
        unsafe { to.add(at).write_volatile(from.add(at).read_volatile()) };
    }
    to
}

/// Fills `count` bytes.
///
/// # Safety
/// As of the C function: the place is that long.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, value: i32, count: usize) -> *mut u8 {
    for at in 0..count {
        // SAFETY: the caller promises that the place has `count` bytes.
        unsafe { to.add(at).write_volatile(value as u8) };
    }
    to
}

/// The difference of the first two bytes that are not the same.
///
/// # Safety
/// As of the C function: both places are that long.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    for at in 0..count {
        // SAFETY: the caller promises that both places have `count` bytes.
        let (a, b) = unsafe { (a.add(at).read_volatile(), b.add(at).read_volatile()) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
    }
    0
}

/// Whether bytes differ.
///
/// # Safety
/// As of the C function: both places are that long.
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    // SAFETY: the same promise.
    unsafe { memcmp(a, b, count) }
}
