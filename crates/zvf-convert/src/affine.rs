//! Affines that users give: a table of numbers, or the header of a NIfTI image.

use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use zvf_meta::Affine;

use crate::error::{ConvertError, Place, shown};

/// Bytes of a text with an affine; a file of more is none.
const LONGEST: u64 = 1 << 20;
/// Bytes of the header of NIfTI-1 and NIfTI-2.
const NIFTI: [usize; 2] = [348, 540];

/// The affine that a file states, and the unit of its result if it states one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StatedAffine {
    /// The map.
    pub affine: Affine,
    /// Name of a unit of length.
    pub unit: Option<&'static str>,
    /// Whether it comes from an image, which may state a unit.
    pub image: bool,
}

impl StatedAffine {
    /// An affine of a table of numbers, which states no unit.
    #[must_use]
    pub const fn of_numbers(affine: Affine) -> Self {
        Self {
            affine,
            unit: None,
            image: false,
        }
    }
}

/// Reads an affine of `rank` axes. The file is either text (numbers in row order, separated by blanks or commas, with or without a last
/// row `0 … 0 1`; `#` begins a comment) or the header of a NIfTI image (`.nii`, `.nii.gz`, `.hdr`; `rank` must be 3). Of an image it is
/// nibabel's `affine`: the sform if its code is set, else the qform if its code is set, else voxel sizes around the middle (x to the left).
///
/// # Errors
/// I/O; malformed files; misuse: an image for another number of axes.
pub fn read_affine(path: &Path, rank: usize) -> Result<StatedAffine, ConvertError> {
    let io = |error| ConvertError::io(path, error);
    let bad = |found: String, expected: &str| {
        ConvertError::malformed(path, Place::Whole, found, expected)
    };
    if !std::fs::metadata(path).map_err(io)?.is_file() {
        return Err(bad("no regular file".to_owned(), "a file with an affine"));
    }
    let mut head = [0; 2];
    let start = zvf_store::open_file(path)
        .map_err(io)?
        .read(&mut head)
        .map_err(io)?;
    let file = zvf_store::open_file(path).map_err(io)?;
    let mut reader: Box<dyn Read> = match (start, head) {
        (2, [0x1f, 0x8b]) => Box::new(MultiGzDecoder::new(file)),
        _ => Box::new(file),
    };
    let mut bytes = Vec::new();
    // No more than the larger header is read of an image.
    let first = NIFTI.iter().copied().max().unwrap_or(0) as u64;
    reader
        .by_ref()
        .take(first)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    if let Some(header) = Nifti::of(&bytes) {
        if rank != 3 {
            let what = path.display().to_string();
            return Err(ConvertError::usage(
                what,
                "an image",
                format!("an affine of {rank} axes"),
            ));
        }
        let affine = header
            .affine()
            .map_err(|found| bad(found, "an affine with an inverse"))?;
        affine
            .inverse()
            .map_err(|error| bad(error.what, "three directions"))?;
        return Ok(StatedAffine {
            affine,
            unit: header.unit(),
            image: true,
        });
    }
    reader
        .by_ref()
        .take(LONGEST)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    if bytes.len() as u64 > LONGEST {
        return Err(ConvertError::limit(
            path,
            Place::Whole,
            "bytes of an affine",
            LONGEST,
        ));
    }
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return Err(bad(
            "bytes that are neither NIfTI nor text".to_owned(),
            "an affine",
        ));
    };
    let affine = parse_affine(text, rank).map_err(|why| {
        let (found, expected) = why
            .split_once(", expected ")
            .unwrap_or((&why, "rows of numbers"));
        bad(found.to_owned(), expected)
    })?;
    Ok(StatedAffine::of_numbers(affine))
}

/// An affine of `rank` axes as numbers by rows.
///
/// # Errors
/// What is there instead.
pub fn parse_affine(text: &str, rank: usize) -> Result<Affine, String> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    let words = lines.flat_map(|line| {
        line.split(|one: char| matches!(one, ',' | ';' | '[' | ']') || one.is_whitespace())
    });
    let numbers: Result<Vec<f64>, String> = words
        .filter(|word| !word.is_empty())
        .map(|word| {
            word.parse()
                .map_err(|_| format!("{} is no number", shown(word)))
        })
        .collect();
    Affine::from_rows(&numbers?, rank).map_err(|error| error.what)
}

/// The header of an image.
struct Nifti<'a> {
    bytes: &'a [u8],
    big: bool,
    second: bool,
}

impl<'a> Nifti<'a> {
    /// A header, by its size and magic.
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let size: [u8; 4] = *bytes.first_chunk()?;
        let size = |big| {
            let mut size = size;
            if big {
                size.reverse();
            }
            i32::from_le_bytes(size)
        };
        [(348, false, 344), (540, true, 4)]
            .into_iter()
            .find_map(|(length, second, magic)| {
                let big = [false, true].into_iter().find(|big| size(*big) == length)?;
                let magic = bytes.get(magic..magic + 3)?;
                let known: [&[u8]; 2] = if second {
                    [b"n+2", b"ni2"]
                } else {
                    [b"n+1", b"ni1"]
                };
                let whole = usize::try_from(length).is_ok_and(|length| bytes.len() >= length);
                (whole && known.contains(&magic)).then_some(Self { bytes, big, second })
            })
    }

    fn raw<const N: usize>(&self, at: usize) -> [u8; N] {
        let bytes = self
            .bytes
            .get(at..)
            .and_then(|rest| rest.first_chunk::<N>());
        let mut bytes = bytes.copied().unwrap_or([0; N]);
        if self.big {
            bytes.reverse();
        }
        bytes
    }

    /// A number of the first or second version, float32 or float64.
    fn float(&self, first: usize, second: usize, index: usize) -> f64 {
        match self.second {
            false => f64::from(f32::from_le_bytes(self.raw(first + 4 * index))),
            true => f64::from_le_bytes(self.raw(second + 8 * index)),
        }
    }

    fn code(&self, first: usize, second: usize) -> i32 {
        match self.second {
            false => i32::from(i16::from_le_bytes(self.raw(first))),
            true => i32::from_le_bytes(self.raw(second)),
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "extents of images are far below 2^53"
    )]
    fn extent(&self, axis: usize) -> f64 {
        match self.second {
            false => f64::from(i16::from_le_bytes(self.raw(40 + 2 * axis))),
            true => i64::from_le_bytes(self.raw(16 + 8 * axis)) as f64,
        }
    }

    fn unit(&self) -> Option<&'static str> {
        let code = match self.second {
            false => i32::from(self.raw::<1>(123)[0]),
            true => i32::from_le_bytes(self.raw(500)),
        };
        match code & 7 {
            1 => Some("meter"),
            2 => Some("millimeter"),
            3 => Some("micrometer"),
            _ => None,
        }
    }

    fn affine(&self) -> Result<Affine, String> {
        let pixdim = |axis| self.float(76, 104, axis);
        let rows = if self.code(254, 348) != 0 {
            (0..12).map(|at| self.float(280, 400, at)).collect()
        } else if self.code(252, 344) != 0 {
            let [b, c, d] = [0, 1, 2].map(|at| self.float(256, 352, at));
            let turn = turn([b, c, d], self.second)?;
            // An image without a handedness has the usual one.
            let hand = if pixdim(0) == -1.0 { -1.0 } else { 1.0 };
            let sizes = [pixdim(1), pixdim(2), pixdim(3) * hand];
            let mut rows = Vec::new();
            for (at, row) in turn.iter().enumerate() {
                rows.extend(row.iter().zip(&sizes).map(|(one, size)| one * size));
                rows.push(self.float(268, 376, at));
            }
            rows
        } else {
            let mut rows = Vec::new();
            for row in 0..3 {
                let known = self.extent(0) > f64::from(row);
                let axis = if row == 0 {
                    1
                } else if row == 1 {
                    2
                } else {
                    3
                };
                let (extent, size) = if known {
                    (self.extent(axis), pixdim(axis))
                } else {
                    (1.0, 1.0)
                };
                let size = if row == 0 { -size } else { size };
                rows.extend((0..3).map(|column| if column == row { size } else { 0.0 }));
                rows.push(-(extent - 1.0) / 2.0 * size);
            }
            rows
        };
        Affine::from_rows(&rows, 3).map_err(|error| error.what)
    }
}

/// The rotation of a quaternion given by its last three numbers.
fn turn([b, c, d]: [f64; 3], second: bool) -> Result<[[f64; 3]; 3], String> {
    let rest = 1.0 - (b * b + c * c + d * d);
    let near = 3.0
        * if second {
            f64::EPSILON
        } else {
            f64::from(f32::EPSILON)
        };
    let a = match rest {
        rest if rest.abs() < near => 0.0,
        rest if rest > 0.0 => rest.sqrt(),
        _ => return Err(format!("the quaternion {b}, {c}, {d}")),
    };
    let scale = 2.0 / (a * a + b * b + c * c + d * d);
    Ok([
        [
            1.0 - scale * (c * c + d * d),
            scale * (b * c - a * d),
            scale * (b * d + a * c),
        ],
        [
            scale * (b * c + a * d),
            1.0 - scale * (b * b + d * d),
            scale * (c * d - a * b),
        ],
        [
            scale * (b * d - a * c),
            scale * (c * d + a * b),
            1.0 - scale * (b * b + c * c),
        ],
    ])
}
