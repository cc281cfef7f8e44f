//! FreeSurfer's MGH (`.mgh`, compressed `.mgz`). All numbers are big-endian.

use std::mem::offset_of;

use zerocopy::FromBytes;
use zerocopy::big_endian::{F32, I16, I32};

use super::{HeaderError, ImageElement, StatedAffine, extent, map, numpy};

zvf_format::layout! {
    /// The header of MGH. Elements follow at byte 284.
    pub struct Mgh: 90 {
        /// 1
        pub version: I32,
        /// width, height, depth and frames
        pub dims: [I32; 4],
        /// type of elements; 0: uint8, 1: int32, 3: float32, 4: int16, 10: uint16
        pub element as "type": I32,
        /// degrees of freedom, not used
        pub dof: I32,
        /// 1 if directions and centre are set
        pub ras_good as "goodRASFlag": I16,
        /// size of a voxel along each axis, in millimetres
        pub delta: [F32; 3],
        /// directions of the three axes
        pub directions as "Mdc": [[F32; 3]; 3],
        /// position of the centre of the volume
        pub centre as "Pxyz_c": [F32; 3],
    }
}

/// The header of an MGH file.
#[derive(Debug, Clone, PartialEq)]
pub struct MghHeader {
    dims: [i32; 4],
    element: i32,
    delta: [f64; 3],
    directions: [[f64; 3]; 3],
    centre: [f64; 3],
    is_stated: bool,
}

impl MghHeader {
    /// First byte of the elements.
    pub(super) const OFFSET: u64 = 284;

    /// Parses a header. The format has no magic, so a header is recognized by its version, a known
    /// type and its extents.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (one, _) = Mgh::read_from_prefix(bytes).ok()?;
        let element = one.element.get();
        let dims = one.dims.map(I32::get);
        let is_it = one.version.get() == 1
            && matches!(element, 0 | 1 | 3 | 4 | 10)
            && dims.iter().all(|extent| *extent > 0);
        let is_stated = one.ras_good.get() == 1;
        let floats = |all: [F32; 3]| all.map(|number| f64::from(number.get()));
        let (delta, directions, centre) = if is_stated {
            let directions = one.directions.map(floats);
            (floats(one.delta), directions, floats(one.centre))
        } else {
            // Coronal, with voxels of one millimetre.
            let directions = [[-1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]];
            ([1.0; 3], directions, [0.0; 3])
        };
        is_it.then_some(Self {
            dims,
            element,
            delta,
            directions,
            centre,
            is_stated,
        })
    }

    pub(super) fn shape(&self) -> Result<Vec<u64>, HeaderError> {
        let mut shape = Vec::new();
        for (axis, stated) in self.dims.into_iter().enumerate() {
            let at = offset_of!(Mgh, dims) + axis * size_of::<I32>();
            shape.push(extent(stated.into(), at, "dims")?);
        }
        // A single frame has no axis.
        if shape.last() == Some(&1) {
            shape.pop();
        }
        Ok(shape)
    }

    pub(super) fn element(&self) -> Result<ImageElement, HeaderError> {
        let (letter, size) = match self.element {
            0 => ('u', 1),
            1 => ('i', 4),
            3 => ('f', 4),
            4 => ('i', 2),
            10 => ('u', 2),
            other => {
                return Err(HeaderError {
                    at: offset_of!(Mgh, element),
                    field: "type",
                    found: other.to_string(),
                    expected: "0, 1, 3, 4 or 10",
                });
            }
        };
        Ok(ImageElement {
            text: numpy(letter, size, true),
            size,
            channels: 1,
        })
    }

    pub(super) fn affine(&self) -> Result<StatedAffine, HeaderError> {
        let mut rows = Vec::new();
        for (row, centre) in self.centre.iter().enumerate() {
            let columns = self.directions.iter().zip(self.delta);
            let columns: Vec<f64> = columns
                .map(|(direction, size)| direction.get(row).copied().unwrap_or(f64::NAN) * size)
                .collect();
            let half: f64 = columns
                .iter()
                .zip(self.dims)
                .map(|(one, extent)| one * f64::from(extent) / 2.0)
                .sum();
            rows.extend(columns);
            rows.push(centre - half);
        }
        let source = match self.is_stated {
            true => "directions and centre of the header",
            false => "coronal directions, because the header states none",
        };
        Ok(StatedAffine {
            affine: map(&rows, offset_of!(Mgh, delta), "delta, Mdc and Pxyz_c")?,
            unit: Some("millimeter"),
            source: Some(source.to_owned()),
        })
    }
}
