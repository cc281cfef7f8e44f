//! Small files with headers that claim large sizes: a reader allocates no more than the bytes justify.
//!
//! The claims are a GiB or more; a reader that believed them would be killed or take minutes.

use zvf_caterva::{
    Array, Axis, Codec, Entry, ErrorClass, FirstFilter, Frame, LastFilter, ReadAt, Selection,
    SpecialKind, WriteOptions, Writer,
};

/// A frame of these one-byte items, in one chunk of one block.
fn frame(items: &[u8]) -> Vec<u8> {
    let n = items.len() as u64;
    let options = WriteOptions::new(1, &[n], &[n])
        .with_codec(Some(Codec::Lz4), 0)
        .with_filters(FirstFilter::None, LastFilter::None);
    let mut writer = Writer::in_memory(&[n], options).unwrap();
    writer.write_all(items).unwrap();
    writer.finish().unwrap().unwrap()
}

fn set(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

/// Big-endian bytes of a number.
fn big<const N: usize>(value: u64) -> [u8; N] {
    std::array::from_fn(|i| (value >> (8 * (N - 1 - i))) as u8)
}

fn header_len(bytes: &[u8]) -> usize {
    bytes[11..15]
        .iter()
        .fold(0, |n, byte| n << 8 | usize::from(*byte))
}

/// Where the content of the n-d metalayer begins.
fn metalayer(bytes: &[u8]) -> usize {
    bytes
        .windows(5)
        .position(|five| five == [0x97, 0, 1, 0x91, 0xd3])
        .unwrap()
}

#[test]
fn an_index_of_forty_bytes_stands_for_any_number_of_chunks() {
    let each = 1u64 << 20;
    let count = 1u64 << 27;
    let mut bytes = frame(&vec![0; each as usize]);
    let index = header_len(&bytes);
    let meta = metalayer(&bytes);
    set(&mut bytes, 30, &big::<8>(each * count));
    set(&mut bytes, meta + 5, &big::<8>(each * count));
    // The stored index of one entry becomes a repeated value of the same length.
    bytes[index + 2] = 0x05;
    set(&mut bytes, index + 4, &(8 * count as u32).to_le_bytes());
    set(&mut bytes, index + 8, &(8 * count as u32).to_le_bytes());
    bytes[index + 31] = 0x30;
    let array = Array::from_bytes(bytes).unwrap();
    assert_eq!(array.geometry().chunk_count, count);
    assert_eq!(
        array.frame().entry(count - 1).unwrap(),
        Entry::Special(SpecialKind::Zeros)
    );
    let shape = array.geometry().shape;
    let last = Selection::new(&[Axis::at(each * count - 1)], &shape).unwrap();
    assert_eq!(array.read(&last).unwrap(), [0]);
    assert_eq!(
        array.frame().chunk(7, 1000).unwrap_err().class(),
        ErrorClass::Limit
    );
    // The whole array is more than any memory.
    assert_eq!(array.read_all().unwrap_err().class(), ErrorClass::Limit);
}

/// A file of a tebibyte, nearly all of it a hole.
#[derive(Debug)]
struct Hole(Vec<u8>);

impl ReadAt for Hole {
    fn size(&self) -> std::io::Result<u64> {
        Ok(1 << 40)
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> std::io::Result<()> {
        assert!(out.len() < 1 << 30, "{} bytes are read at once", out.len());
        out.fill(0);
        let from = self.0.get(at as usize..).unwrap_or_default();
        let n = from.len().min(out.len());
        out[..n].copy_from_slice(&from[..n]);
        Ok(())
    }
}

#[test]
fn a_frame_that_is_all_index_is_not_read_into_memory() {
    let mut bytes = frame(&[7; 100]);
    // The frame is as long as the file; its chunk area is shorter.
    set(&mut bytes, 16, &big::<8>(1 << 40));
    let error = Frame::from_source(Box::new(Hole(bytes)), 0).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Limit);
}

#[test]
fn a_block_of_a_gibibyte_needs_bytes_behind_it() {
    let items: Vec<u8> = (0..4096u32).map(|i| (i / 100) as u8).collect();
    let mut bytes = frame(&items);
    let claim = 1u64 << 30;
    let chunk = header_len(&bytes);
    let meta = metalayer(&bytes);
    set(&mut bytes, 30, &big::<8>(claim));
    for at in [53, 58] {
        set(&mut bytes, at, &big::<4>(claim));
    }
    set(&mut bytes, meta + 5, &big::<8>(claim));
    for at in [meta + 15, meta + 21] {
        set(&mut bytes, at, &big::<4>(claim));
    }
    for at in [chunk + 4, chunk + 8] {
        set(&mut bytes, at, &(claim as u32).to_le_bytes());
    }
    let array = Array::from_bytes(bytes).unwrap();
    let one = Selection::new(&[Axis::at(5)], &array.geometry().shape).unwrap();
    assert_eq!(array.read(&one).unwrap_err().class(), ErrorClass::Limit);
    assert_eq!(
        array.frame().chunk(0, usize::MAX).unwrap_err().class(),
        ErrorClass::Limit
    );
}
