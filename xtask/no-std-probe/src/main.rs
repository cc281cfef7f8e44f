//! A bare binary that decodes the worked example of the fragment-index page, byte by byte, with
//! `zvf-format`, proves and reads a TET file with `zvf-tet` and `zvf-grid`, and reads the worked example of the
//! Caterva page with `zvf-caterva` and `zvf-blosc`: no std, no allocator, no libc, panics abort.
//!
//! Tests cannot show this, because their harness brings std back. Here the linker does: a single
//! use of std or of the heap would leave an unresolved symbol, since nothing is linked but `core`,
//! these crates without any feature, and the five functions of memory in `mem.rs`.
//!
//! # Building and running
//!
//! On a 64-bit x86 or ARM Linux with a C linker, from the root of the project:
//!
//! ```text
//! cargo build --release --manifest-path xtask/no-std-probe/Cargo.toml
//! xtask/no-std-probe/target/release/no-std-probe; echo $?
//! ```
//!
//! Exit code 0: every decoded value was right. 1 to 99: the check of that number in [`checks`]
//! failed. 100: a panic, which the library promises not to have. The code size is the text section
//! (`size -A <binary>`), decoder, checks and start code together.
//!
//! The release profile is fixed here: `opt-level = "z"`, fat LTO, `panic = "abort"`. The features
//! in use can be seen with `cargo tree -e features --manifest-path xtask/no-std-probe/Cargo.toml`;
//! no `std` and no `alloc` may appear.
//!
//! # Unsafe
//!
//! The probe is not product code and is not under the workspace lints: it has to be the program
//! start and to leave the process by a system call, which only assembly can.
#![no_std]
#![no_main]

mod mem;

use core::hint::black_box;

use zvf_blosc::{Chunk, Codecs};
use zvf_caterva::{Entry, FrameView, Geometry, NdKind};
use zvf_format::fragments::{Fragment, FragmentIndex, RankDirectory};
use zvf_grid::{Axis, Selection, copy};
use zvf_tet::{Profile, Tet};

/// Ten floats in tiles of four.
static TET: &[u8; 464] = include_bytes!("../../../testdata/tet/f32_1d_edge_raw.tet");
/// The same with two rows of the index in each other's place.
static TET_SWAPPED: &[u8; 464] = include_bytes!("../../../testdata/tet/derived/en_swapped.tet");

/// The numbers 1 to 35 in 5 rows, in chunks of 3 x 4 and blocks of 2 x 2.
static FRAME: &[u8; 639] = include_bytes!("../../../testdata/caterva/c01_tiny_i4_2d.b2frame");

/// The worked example: a range (0, 4), the list 12, 7, 19 and a range (20, 8).
static WORKED_EXAMPLE: [u8; 88] = [
    0x47, 0x46, 0x56, 0x5A, 1, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, // magic, version, flags, F, R
    0x05, 0, 0, 0, 0, 0, 0, 0, // bitmap 101, padded
    0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, // range 0: start 0, count 4
    20, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, // range 1: start 20, count 8
    0, 0, 0, 0, 3, 0, 0, 0, // list offsets 0, 3
    12, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 19, 0, 0, 0, 0, 0, 0, 0, // list rows
];

/// Runs every check; the number of the first one that fails, or 0.
fn checks(blob: &[u8]) -> i32 {
    let Ok(index) = FragmentIndex::parse(blob) else {
        return 1;
    };
    if index.check(28).is_err() {
        return 2;
    }
    if (index.len(), index.range_count(), index.list_count()) != (3, 2, 1) {
        return 3;
    }
    if index.extent() != Ok(28) || index.tiles(28) {
        return 4;
    }
    if [0, 1, 2, 3].map(|f| index.is_range(f)) != [Some(true), Some(false), Some(true), None] {
        return 5;
    }
    if index.range(0) != Some((0, 4)) || index.range(1).is_some() || index.range(2) != Some((20, 8))
    {
        return 6;
    }
    let Some(rows) = index.indices(1) else {
        return 7;
    };
    if !rows.eq([12, 7, 19]) {
        return 8;
    }
    // One step a fragment, by the iterator and by the rank directory, whose storage is the stack.
    let mut storage = [0_u32; 1];
    let Ok(directory) = RankDirectory::build_in(&index, &mut storage) else {
        return 9;
    };
    let mut visited = 0;
    for fragment in index.iter() {
        if directory.get(&index, visited) != Some(fragment) {
            return 10;
        }
        visited += 1;
    }
    if visited != 3 || index.iter().map(|fragment| fragment.len()).sum::<u64>() != 15 {
        return 11;
    }
    if !matches!(
        index.iter().last(),
        Some(Fragment::Range {
            start: 20,
            count: 8
        })
    ) {
        return 12;
    }
    // Every way to cut it short is an error, not a panic.
    for end in 0..blob.len() {
        match blob.get(..end).map(FragmentIndex::parse) {
            Some(Err(error)) if error.is_truncated() => {}
            _ => return 13,
        }
    }
    0
}

/// Proves a TET file and reads every third element of it; the number of the first check that fails, or 0.
fn tet_checks(file: &[u8], canonical: bool) -> i32 {
    let mut scratch = [0; 3];
    let Ok((tet, proof)) = Tet::open_in(file, Profile::Strict, &mut scratch) else {
        return 21;
    };
    if proof.canonical != canonical || proof.payload_end != 464 {
        return 22;
    }
    let Some((record, Ok(geometry))) = tet.record("x").map(|record| (record, record.check()))
    else {
        return 23;
    };
    let Ok(wanted) = Selection::new(&[Axis::new(0, 10, 3)], &record.shape()) else {
        return 24;
    };
    let Ok(tiles) = wanted.cells(&geometry.chunk_shape) else {
        return 25;
    };
    let mut values = [0; 16];
    for tile in tiles {
        let coord = tile.coord();
        let found = tet.find(0, 0, &geometry.grid, &coord);
        let Some(((_, entry), extent)) = found.zip(geometry.extent(&coord)) else {
            return 26;
        };
        let start = entry.payload_offset.get() as usize;
        let Some(payload) = file.get(start..start + entry.raw_byte_len.get() as usize) else {
            return 27;
        };
        if copy(
            4,
            payload,
            &extent,
            &mut values,
            &wanted.shape(),
            tile.runs(),
        )
        .is_err()
        {
            return 28;
        }
    }
    // −3.0, −1.5, 0.0, 1.5: the file is a ramp from −3 in halves.
    let expected: [f32; 4] = [-3.0, -1.5, 0.0, 1.5];
    let right = expected
        .iter()
        .zip(values.as_chunks::<4>().0)
        .all(|(want, found)| want.to_le_bytes() == *found);
    if !right {
        return 29;
    }
    for end in 0..file.len() {
        match file
            .get(..end)
            .map(|cut| Tet::open_in(cut, Profile::Lenient, &mut scratch))
        {
            Some(Err(_)) => {}
            _ => return 30,
        }
    }
    0
}

/// Decodes a chunk of 16 numbers and compares them.
fn holds(chunk: &Chunk<'_>, wanted: [i32; 16]) -> bool {
    let (mut bytes, mut scratch) = ([0xee; 64], [0xee; 16]);
    let decoded = chunk.decode_into(4, &mut bytes, &mut scratch, &mut Codecs::new());
    let found = bytes.as_chunks::<4>().0;
    decoded.is_ok()
        && wanted
            .iter()
            .zip(found)
            .all(|(want, found)| want.to_le_bytes() == *found)
}

/// Reads a frame with what needs no codec; the number of the first check that fails, or 0.
fn frame_checks(frame: &[u8]) -> i32 {
    let Ok(view) = FrameView::parse(frame) else {
        return 41;
    };
    let Ok(Some(meta)) = view.nd() else {
        return 42;
    };
    if (meta.kind(), meta.rank(), meta.shape(0), meta.shape(1)) != (NdKind::Caterva, 2, 5, 7) {
        return 43;
    }
    let Ok(geometry) = Geometry::of_frame(view.header(), &meta) else {
        return 44;
    };
    if (
        geometry.chunk_count,
        geometry.block_count,
        geometry.block_bytes,
    ) != (4, 4, 16)
    {
        return 45;
    }
    let mut entries = [0; 32];
    let decoded = view
        .index()
        .map(|index| index.decode_into(8, &mut entries, &mut [], &mut Codecs::new()));
    if !matches!(decoded, Some(Ok(()))) {
        return 46;
    }
    let mut chunks = [None; 4];
    for (place, entry) in chunks.iter_mut().zip(entries.as_chunks::<8>().0) {
        let Ok(Entry::At(at)) = Entry::parse(i64::from_le_bytes(*entry)) else {
            return 47;
        };
        let Ok(chunk) = view.chunk_at(at) else {
            return 48;
        };
        *place = Some(chunk);
    }
    let [Some(first), _, Some(third), Some(last)] = chunks else {
        return 49;
    };
    // Stored as it is, block by block.
    if !holds(
        &first,
        [1, 2, 8, 9, 3, 4, 10, 11, 15, 16, 0, 0, 17, 18, 0, 0],
    ) {
        return 50;
    }
    // Shuffled streams and runs.
    if !holds(
        &third,
        [22, 23, 29, 30, 24, 25, 31, 32, 0, 0, 0, 0, 0, 0, 0, 0],
    ) {
        return 51;
    }
    // A stream of LZ4, which is not linked.
    let (mut block, mut scratch) = ([0; 16], [0; 16]);
    let Ok(pipeline) = last.header().pipeline(4) else {
        return 52;
    };
    let missing = (0..4).any(|number| {
        last.decode_block(
            &pipeline,
            number,
            None,
            &mut block,
            &mut scratch,
            &mut Codecs::new(),
        )
        .is_err_and(|error| error.class() == zvf_blosc::Class::Unsupported)
    });
    if !missing {
        return 53;
    }
    for end in 0..frame.len() {
        match frame.get(..end).map(FrameView::parse) {
            Some(Err(_)) => {}
            _ => return 54,
        }
    }
    0
}

/// What the start code calls.
#[unsafe(no_mangle)]
extern "C" fn probe_main() -> ! {
    // The bytes are hidden from the optimiser, so that the decoder is really in the binary.
    let mut code = checks(black_box(&WORKED_EXAMPLE));
    if code == 0 {
        code = tet_checks(black_box(TET), true);
    }
    if code == 0 {
        code = tet_checks(black_box(TET_SWAPPED), false);
    }
    if code == 0 {
        code = frame_checks(black_box(FRAME));
    }
    exit(code)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    exit(100)
}

/// `core` comes compiled for unwinding and names this function; nothing here unwinds or calls it.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

// Start of the process: mark the end of the frames, align the stack, go.
#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".globl _start",
    "_start:",
    "xor ebp, ebp",
    "and rsp, -16",
    "call probe_main",
    "ud2",
);

#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".globl _start",
    "_start:",
    "mov x29, #0",
    "mov x30, #0",
    "bl probe_main",
    "brk #1"
);

/// Leaves the process through the system call `exit`.
#[cfg(target_arch = "x86_64")]
fn exit(code: i32) -> ! {
    // SAFETY: system call 60 takes the code in rdi and does not return; it touches no memory.
    unsafe {
        core::arch::asm!("syscall", in("rax") 60, in("rdi") i64::from(code), options(noreturn, nostack))
    }
}

/// Leaves the process through the system call `exit`.
#[cfg(target_arch = "aarch64")]
fn exit(code: i32) -> ! {
    // SAFETY: system call 93 takes the code in x0 and does not return; it touches no memory.
    unsafe {
        core::arch::asm!("svc #0", in("x8") 93, in("x0") i64::from(code), options(noreturn, nostack))
    }
}
