//! Firmware that decodes a chunk of a store from flash: the fragment index by `zvf-format`, then the positions of the rows that one
//! fragment lists. No std, no allocator, no mutable statics: RAM holds the stack alone, 4 KB, and the linker script checks it.
//!
//! ```text
//! cargo xtask cortex-m      # builds it for thumbv7em-none-eabihf, and runs it if qemu-system-arm is there
//! ```
//!
//! It ends through semihosting: code 0 if every decoded value is right, otherwise the number of the check that failed, 100 for a panic and
//! 101 for a fault of the processor. Before that it prints how much of the stack was used.
//!
//! # Unsafe
//!
//! This is not product code and is not under the workspace lints: it has to be the reset handler and to call the debugger.
#![no_std]
#![no_main]

use core::hint::black_box;

use zvf_format::fragments::FragmentIndex;

/// The fragment index of a chunk of 28 rows: a range (0, 4), the list 12, 7, 19 and a range (20, 8).
static FRAGMENTS: [u8; 88] = [
    0x47, 0x46, 0x56, 0x5A, 1, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, // magic, version, flags, F, R
    0x05, 0, 0, 0, 0, 0, 0, 0, // bitmap 101, padded
    0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, // range 0: start 0, count 4
    20, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, // range 1: start 20, count 8
    0, 0, 0, 0, 3, 0, 0, 0, // list offsets 0, 3
    12, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 19, 0, 0, 0, 0, 0, 0, 0, // list rows
];

const ROWS: usize = 28;

/// Bytes of a position: x, y and z as float32.
const STRIDE: usize = 12;

/// The positions of the chunk, little-endian: row r is (r, r / 2, -r).
static VERTICES: [u8; ROWS * STRIDE] = {
    let mut bytes = [0; ROWS * STRIDE];
    let mut row = 0;
    while row < ROWS {
        let r = row as f32;
        let position = [r.to_le_bytes(), (r / 2.0).to_le_bytes(), (-r).to_le_bytes()];
        let mut at = 0;
        while at < STRIDE {
            bytes[row * STRIDE + at] = position[at / 4][at % 4];
            at += 1;
        }
        row += 1;
    }
    bytes
};

/// The position of a row.
fn position(vertices: &[u8], row: i64) -> Option<[f32; 3]> {
    let (positions, _) = vertices.as_chunks::<STRIDE>();
    let bytes = positions.get(usize::try_from(row).ok()?)?;
    let (numbers, _) = bytes.as_chunks::<4>();
    let mut position = [0.0; 3];
    for (number, bytes) in position.iter_mut().zip(numbers) {
        *number = f32::from_le_bytes(*bytes);
    }
    Some(position)
}

/// Decodes the chunk; the number of the first check that fails, or 0.
fn checks(fragments: &[u8], vertices: &[u8]) -> u32 {
    let Ok(index) = FragmentIndex::parse(fragments) else {
        return 1;
    };
    if index.check_rows(ROWS as u64).is_err() {
        return 2;
    }
    if (index.len(), index.range(0), index.range(2)) != (3, Some((0, 4)), Some((20, 8))) {
        return 3;
    }
    let Some(rows) = index.indices(1) else {
        return 4;
    };
    // The bounding box of the fragment.
    let (mut least, mut most) = ([f32::MAX; 3], [f32::MIN; 3]);
    let mut count = 0;
    for row in rows {
        let Some(position) = position(vertices, row) else {
            return 5;
        };
        for ((value, least), most) in position.iter().zip(&mut least).zip(&mut most) {
            *least = least.min(*value);
            *most = most.max(*value);
        }
        count += 1;
    }
    if count != 3 || least != [7.0, 3.5, -19.0] || most != [19.0, 9.5, -7.0] {
        return 6;
    }
    // Every way to cut the index short is an error, not a panic.
    let cut = (0..fragments.len()).filter_map(|end| fragments.get(..end));
    for prefix in cut {
        if FragmentIndex::parse(prefix).is_ok() {
            return 7;
        }
    }
    0
}

/// What the stack is filled with before [`firmware`] runs.
const UNUSED: u32 = 0x5afe_57ac;

/// Runs the checks, reports the stack and ends.
#[unsafe(no_mangle)]
extern "C" fn firmware() -> ! {
    let code = checks(black_box(&FRAGMENTS), black_box(&VERTICES));
    print("stack: ");
    print_number(used());
    print(" bytes\n");
    exit(code)
}

/// Bytes of the stack that were written to.
fn used() -> u32 {
    unsafe extern "C" {
        static _stack_end: u32;
        static _stack_start: u32;
    }
    let (end, start) = (&raw const _stack_end, &raw const _stack_start);
    let mut place = end;
    // SAFETY: both symbols are bounds of RAM, and the loop ends at the second one.
    while place < start && unsafe { place.read_volatile() } == UNUSED {
        place = place.wrapping_add(1);
    }
    (start.addr() - place.addr()) as u32
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    exit(100)
}

/// Prints to the debugger.
fn print(text: &str) {
    const SYS_WRITEC: u32 = 0x03;
    for letter in text.as_bytes() {
        call(SYS_WRITEC, (&raw const *letter).addr() as u32);
    }
}

fn print_number(number: u32) {
    if number >= 10 {
        print_number(number / 10);
    }
    let digit = [b'0' + (number % 10) as u8];
    print(core::str::from_utf8(&digit).unwrap_or("?"));
}

/// Ends the emulation with a code.
fn exit(code: u32) -> ! {
    const SYS_EXIT_EXTENDED: u32 = 0x20;
    const APPLICATION_EXIT: u32 = 0x20026;
    let block = [APPLICATION_EXIT, code];
    loop {
        call(SYS_EXIT_EXTENDED, block.as_ptr().addr() as u32);
    }
}

/// Calls the debugger (semihosting).
fn call(operation: u32, parameter: u32) {
    // SAFETY: the debugger reads the block at `parameter` and changes only r0.
    unsafe {
        core::arch::asm!("bkpt 0xab", inout("r0") operation => _, in("r1") parameter, options(nostack));
    }
}

// The vector table, the reset handler, which enables the FPU and fills the stack, and the handler of faults.
core::arch::global_asm!(
    ".syntax unified",
    ".section .vectors, \"a\"",
    ".word _stack_start",
    ".word reset",
    ".rept 14",
    ".word fault",
    ".endr",
    ".section .text.reset, \"ax\"",
    ".thumb_func",
    ".globl reset",
    "reset:",
    "ldr r0, =0xe000ed88", // CPACR: full access to coprocessors 10 and 11
    "ldr r1, [r0]",
    "orr r1, r1, #0xf00000",
    "str r1, [r0]",
    "dsb",
    "isb",
    "ldr r0, =_stack_end",
    "ldr r1, =_stack_start",
    "ldr r2, ={unused}",
    "1: str r2, [r0], #4",
    "cmp r0, r1",
    "blo 1b",
    "bl firmware",
    ".thumb_func",
    "fault:",
    "movs r0, #101",
    "bl fault_exit",
    ".pool",
    unused = const UNUSED,
);

#[unsafe(no_mangle)]
extern "C" fn fault_exit(code: u32) -> ! {
    exit(code)
}
