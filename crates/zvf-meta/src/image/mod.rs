//! Headers of image files that state the positions of their elements: NIfTI-1, NIfTI-2 and FreeSurfer's MGH.
//!
//! [`ImageHeader::parse`] recognizes a header by its first bytes. Its methods check one property each, so the map of an image is available even if
//! the type of its elements is unknown.

mod mgh;
mod nifti;

use crate::{Affine, AffineError};

/// A field of a header with a value that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("byte {at} ({field}): found {found}, expected {expected}")]
pub struct HeaderError {
    /// The first byte of the field.
    pub at: usize,
    /// The name of the field, in the terms of the format.
    pub field: &'static str,
    /// Its value.
    pub found: String,
    /// The legal values.
    pub expected: &'static str,
}

/// A map from element indices to positions, as stated by a user or a file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StatedAffine {
    /// The map.
    pub affine: Affine,
    /// Name of the unit of length of its result, if stated.
    pub unit: Option<&'static str>,
    /// For an image, the map of its header that was used. `None` for a table of numbers.
    pub source: Option<String>,
}

impl StatedAffine {
    /// The map from a table of numbers, which states no unit.
    #[must_use]
    pub const fn of_numbers(affine: Affine) -> Self {
        Self {
            affine,
            unit: None,
            source: None,
        }
    }
}

/// The type of the elements of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageElement {
    /// The type of a number in NumPy's notation, with its byte order: `>i2`; `|V16` for numbers of 128 bits.
    pub text: String,
    /// Bytes of a number.
    pub size: usize,
    /// Numbers in an element: 1, or 3 or 4 for colours.
    pub channels: u64,
}

/// The header of an image file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ImageHeader {
    /// NIfTI-1 or NIfTI-2.
    Nifti(NiftiHeader),
    /// FreeSurfer's MGH.
    Mgh(MghHeader),
}

pub use mgh::MghHeader;
pub use nifti::NiftiHeader;

impl ImageHeader {
    /// Bytes that can hold a header of any format.
    pub const LENGTH: usize = 540;

    /// Parses the header at the start of a decompressed file. `bytes` are its first [`Self::LENGTH`] bytes, or all of a shorter file. `None` for
    /// another kind of file, or one that ends inside its header.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let nifti = || NiftiHeader::parse(bytes).map(Self::Nifti);
        nifti().or_else(|| MghHeader::parse(bytes).map(Self::Mgh))
    }

    /// Whether a file with these first bytes may be an image: by the first four bytes, or because it is compressed with gzip.
    #[must_use]
    pub fn is_candidate(first: &[u8]) -> bool {
        let sizes = [[92, 1, 0, 0], [0, 0, 1, 92], [28, 2, 0, 0], [0, 0, 2, 28]];
        let four = |all: [u8; 4]| first.starts_with(&all);
        Self::is_gzip(first) || sizes.into_iter().any(four) || four([0, 0, 0, 1])
    }

    /// Whether a file with these first bytes is compressed with gzip, like `.nii.gz` and `.mgz`.
    #[must_use]
    pub fn is_gzip(first: &[u8]) -> bool {
        first.starts_with(&[0x1f, 0x8b])
    }

    /// Name of the format.
    #[must_use]
    pub const fn format(&self) -> &'static str {
        match self {
            Self::Nifti(one) if one.second => "NIfTI-2",
            Self::Nifti(_) => "NIfTI-1",
            Self::Mgh(_) => "MGH",
        }
    }

    /// Extents of the axes in the order of the header: three of space, then time, then others. Elements along the first axis are adjacent in the
    /// file. An image of fewer than three axes has extents of 1 for the missing ones.
    ///
    /// # Errors
    /// A number of axes or an extent that the format does not allow.
    pub fn shape(&self) -> Result<Vec<u64>, HeaderError> {
        match self {
            Self::Nifti(one) => one.shape(),
            Self::Mgh(one) => one.shape(),
        }
    }

    /// The type of the elements as stored.
    ///
    /// # Errors
    /// An unknown type.
    pub fn element(&self) -> Result<ImageElement, HeaderError> {
        match self {
            Self::Nifti(one) => one.element(),
            Self::Mgh(one) => one.element(),
        }
    }

    /// First byte of the elements in the decompressed file.
    ///
    /// # Errors
    /// An offset inside the header, or one that is not a whole number; elements in a second file.
    pub fn offset(&self) -> Result<u64, HeaderError> {
        match self {
            Self::Nifti(one) => one.offset(),
            Self::Mgh(_) => Ok(MghHeader::OFFSET),
        }
    }

    /// Slope and intercept of the values, `slope * element + intercept`. `None` if they are 1 and 0, or if the slope is 0 or not a number.
    ///
    /// # Errors
    /// A valid slope with an intercept that is not finite.
    pub fn scaling(&self) -> Result<Option<(f64, f64)>, HeaderError> {
        match self {
            Self::Nifti(one) => one.scaling(),
            Self::Mgh(_) => Ok(None),
        }
    }

    /// The centre of element `i` of the axis of time, as offset and step of `offset + step * i`, and the unit. `None` unless the unit is one of time.
    #[must_use]
    pub fn time(&self) -> Option<((f64, f64), &'static str)> {
        match self {
            Self::Nifti(one) => one.time(),
            Self::Mgh(_) => None,
        }
    }

    /// The map from element indices to positions (x to the right, y to the front, z to the top), as in nibabel. NIfTI: the sform if it has a code,
    /// else the qform if it has one, else voxel sizes around the middle with x to the left. MGH: directions and centre in millimetres, or
    /// FreeSurfer's coronal ones if the header states none.
    ///
    /// # Errors
    /// Numbers that are not finite, a quaternion that is not a rotation, a map without an inverse.
    pub fn affine(&self) -> Result<StatedAffine, HeaderError> {
        match self {
            Self::Nifti(one) => one.affine(),
            Self::Mgh(one) => one.affine(),
        }
    }

    /// A remark on positions, if the header has a second map that differs from [`Self::affine`], or if the map uses voxel sizes that are not positive.
    #[must_use]
    pub fn remark(&self) -> Option<String> {
        match self {
            Self::Nifti(one) => one.remark(),
            Self::Mgh(_) => None,
        }
    }
}

/// Creates a map from three rows of four numbers, and checks that it has an inverse.
fn map(rows: &[f64], at: usize, field: &'static str) -> Result<Affine, HeaderError> {
    let made = Affine::from_rows(rows, 3).and_then(|affine| affine.inverse().map(|_| affine));
    made.map_err(|AffineError { what }| HeaderError {
        at,
        field,
        found: what,
        expected: "a map with an inverse",
    })
}

/// NumPy's name of a number type.
fn numpy(letter: char, size: usize, big: bool) -> String {
    let order = match (letter, size, big) {
        (_, 1, _) | ('V', _, _) => '|',
        (_, _, true) => '>',
        _ => '<',
    };
    format!("{order}{letter}{size}")
}

/// Checks that an extent is at least 1.
fn extent(stated: i64, at: usize, field: &'static str) -> Result<u64, HeaderError> {
    let extent = u64::try_from(stated).ok().filter(|extent| *extent > 0);
    extent.ok_or_else(|| HeaderError {
        at,
        field,
        found: stated.to_string(),
        expected: "an extent of at least 1",
    })
}
