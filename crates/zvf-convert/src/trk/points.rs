//! Blocks of points, from bytes to positions and scalars.

use std::path::Path;

use zerocopy::byteorder::{BigEndian, F32, LittleEndian};
use zerocopy::{ByteOrder, FromBytes};
use zvf_meta::Affine;
use zvf_write::narrow;

use crate::bytes::Bytes;
use crate::error::{ConvertError, InFile};

/// Bytes that are read and decoded at once.
const BLOCK: usize = 1 << 16;

/// The points of one file.
pub(super) struct TrackPoints<'a> {
    path: &'a Path,
    decode: Decode,
    map: Option<[[f64; 4]; 3]>,
    /// The number of values of a point: coordinates and scalars.
    width: usize,
    raw: Vec<u8>,
    /// Positions of the last block, after the map.
    pub(super) positions: Vec<f32>,
    pub(super) scalars: Vec<f32>,
}

type Decode = fn(&mut TrackPoints<'_>, u64) -> Result<(), ConvertError>;

impl<'a> TrackPoints<'a> {
    /// Points with `scalars` scalars each, in either byte order. With a map, positions are transformed and rounded once.
    pub(super) fn new(path: &'a Path, big: bool, scalars: usize, map: Option<&Affine>) -> Self {
        let rows = map.map(Affine::rows).unwrap_or_default();
        let mut matrix = [[0.0; 4]; 3];
        let cells = matrix.iter_mut().flatten().zip(rows.into_iter().flatten());
        cells.for_each(|(cell, number)| *cell = number);
        Self {
            path,
            decode: match big {
                true => |points, at| points.decode::<BigEndian>(at),
                false => |points, at| points.decode::<LittleEndian>(at),
            },
            map: map.map(|_| matrix),
            width: scalars.saturating_add(3),
            raw: Vec::new(),
            positions: Vec::new(),
            scalars: Vec::new(),
        }
    }

    /// Reads at most `most` points; returns their number.
    ///
    /// # Errors
    /// I/O; malformed, at the first wrong or missing number. Positions and scalars before it are kept.
    pub(super) fn read(&mut self, bytes: &mut Bytes, most: usize) -> Result<usize, ConvertError> {
        let size = self.width.saturating_mul(4);
        let count = most.min(BLOCK.checked_div(size).unwrap_or(0).max(1));
        let at = bytes.at();
        let wanted = count.saturating_mul(size);
        self.positions.clear();
        self.scalars.clear();
        bytes.block(wanted, &mut self.raw)?;
        (self.decode)(self, at)?;
        if self.raw.len() < wanted {
            let what = match (self.raw.len() % size) / 4 {
                0..3 => "a coordinate",
                _ => "a scalar",
            };
            return Err(cut_short(bytes, at, self.raw.len(), what));
        }
        Ok(count)
    }

    fn decode<O: ByteOrder>(&mut self, at: u64) -> Result<(), ConvertError> {
        let raw = std::mem::take(&mut self.raw);
        let numbers = floats::<O>(&raw);
        let done = numbers
            .chunks(self.width)
            .zip(0_u64..)
            .try_for_each(|(point, row)| {
                let at = at.saturating_add(row.saturating_mul(4 * self.width as u64));
                let (position, scalars) = point.split_at_checked(3).unwrap_or((point, &[]));
                if let Some((axis, wrong)) = (0_u64..)
                    .zip(position)
                    .find(|(_, one)| !one.get().is_finite())
                {
                    let place = InFile::Byte(at.saturating_add(4 * axis + 4));
                    let found = wrong.get().to_string();
                    return Err(ConvertError::malformed(
                        self.path,
                        place,
                        found,
                        "a finite coordinate",
                    ));
                }
                let &[x, y, z] = position else {
                    return Ok(());
                };
                let position = self.mapped([x.get(), y.get(), z.get()], at)?;
                if scalars.len() + 3 == self.width {
                    self.positions.extend(position);
                    self.scalars.extend(scalars.iter().map(|one| one.get()));
                }
                Ok(())
            });
        self.raw = raw;
        done
    }

    /// Maps a position, which is at byte `at` of the file.
    fn mapped(&self, position: [f32; 3], at: u64) -> Result<[f32; 3], ConvertError> {
        let Some(map) = &self.map else {
            return Ok(position);
        };
        let [x, y, z] = position.map(f64::from);
        // Rounded here, so that both passes see the stored values.
        let mapped = map.map(|[a, b, c, offset]| narrow(offset + a * x + b * y + c * z));
        match mapped.iter().all(|value| value.is_finite()) {
            true => Ok(mapped),
            false => Err(ConvertError::malformed(
                self.path,
                InFile::Byte(at.saturating_add(12)),
                format!("{:?}", [x, y, z]),
                "a point that float32 holds after the affine is applied",
            )),
        }
    }
}

/// Reads `count` numbers of one streamline into `properties`.
///
/// # Errors
/// I/O; malformed: the file ends before the last of these numbers.
pub(super) fn read_properties(
    bytes: &mut Bytes,
    big: bool,
    count: usize,
    properties: &mut Vec<f32>,
) -> Result<(), ConvertError> {
    let (at, mut raw) = (bytes.at(), Vec::new());
    bytes.block(count.saturating_mul(4), &mut raw)?;
    if raw.len() < count.saturating_mul(4) {
        return Err(cut_short(bytes, at, raw.len(), "a property"));
    }
    properties.clear();
    match big {
        true => properties.extend(floats::<BigEndian>(&raw).iter().map(|one| one.get())),
        false => properties.extend(floats::<LittleEndian>(&raw).iter().map(|one| one.get())),
    }
    Ok(())
}

/// The error for a file that ends `got` bytes after byte `at`, where numbers begin.
fn cut_short(bytes: &Bytes, at: u64, got: usize, what: &str) -> ConvertError {
    let rest = got % 4;
    bytes.short(at.saturating_add((got - rest) as u64), rest, what, 4)
}

/// The complete numbers in `raw`.
fn floats<O: ByteOrder>(raw: &[u8]) -> &[F32<O>] {
    let numbers = <[F32<O>]>::ref_from_prefix_with_elems(raw, raw.len() / 4);
    numbers.map_or(&[], |(numbers, _)| numbers)
}
