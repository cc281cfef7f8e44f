//! NIfTI-1 and NIfTI-2: one file (`.nii`), or the header of two (`.hdr`).

use std::mem::offset_of;

use zerocopy::FromBytes;
use zerocopy::little_endian::{F32, F64, I16, I32, I64};
use zvf_format::layout::Layout;

use super::{HeaderError, ImageElement, StatedAffine, extent, map, numpy};

zvf_format::layout! {
    /// The header of NIfTI-1. Its numbers have either byte order.
    pub struct Nifti1: 348 {
        /// 348
        pub size as "sizeof_hdr": I32,
        /// from the Analyze format, not used
        pub analyze: [u8; 36],
        /// number of axes, 1 to 7, then their extents
        pub dim: [I16; 8],
        /// meaning of the values, not used
        pub intent: [u8; 14],
        /// code of the type of the elements
        pub datatype: I16,
        /// bits of an element and first slice, not used
        pub bits as "bitpix": [u8; 4],
        /// handedness of the qform, then the size of a voxel along each axis
        pub pixdim: [F32; 8],
        /// offset of the elements in the file
        pub vox_offset: F32,
        /// scale of values; 0 if they are not scaled
        pub scl_slope: F32,
        /// offset of values
        pub scl_inter: F32,
        /// order of slices, not used
        pub slices as "slice_end": [u8; 3],
        /// units of space (bits 0 to 2) and of time (bits 3 to 5)
        pub xyzt_units: u8,
        /// range for displays and duration of a slice, not used
        pub display as "cal_max": [u8; 12],
        /// time of the first element
        pub toffset: F32,
        /// texts, not used
        pub texts as "descrip": [u8; 112],
        /// 0: no qform
        pub qform_code: I16,
        /// 0: no sform
        pub sform_code: I16,
        /// last three numbers of the quaternion of the qform
        pub quatern: [F32; 3],
        /// offset of the qform
        pub qoffset: [F32; 3],
        /// rows of the sform
        pub srow: [[F32; 4]; 3],
        /// name of the meaning, not used
        pub intent_name: [u8; 16],
        /// n+1 for one file, ni1 for two
        pub magic: [u8; 4],
    }

    /// The header of NIfTI-2. Its numbers have either byte order.
    pub struct Nifti2: 540 {
        /// 540
        pub size as "sizeof_hdr": I32,
        /// n+2 for one file, ni2 for two, then bytes that a transfer as text would change
        pub magic: [u8; 8],
        /// code of the type of the elements
        pub datatype: I16,
        /// bits of an element, not used
        pub bits as "bitpix": [u8; 2],
        /// number of axes, 1 to 7, then their extents
        pub dim: [I64; 8],
        /// meaning of the values, not used
        pub intent: [u8; 24],
        /// handedness of the qform, then the size of a voxel along each axis
        pub pixdim: [F64; 8],
        /// offset of the elements in the file
        pub vox_offset: I64,
        /// scale of values; 0 if they are not scaled
        pub scl_slope: F64,
        /// offset of values
        pub scl_inter: F64,
        /// range for displays and duration of a slice, not used
        pub display as "cal_max": [u8; 24],
        /// time of the first element
        pub toffset: F64,
        /// slices and texts, not used
        pub texts as "descrip": [u8; 120],
        /// 0: no qform
        pub qform_code: I32,
        /// 0: no sform
        pub sform_code: I32,
        /// last three numbers of the quaternion of the qform
        pub quatern: [F64; 3],
        /// offset of the qform
        pub qoffset: [F64; 3],
        /// rows of the sform
        pub srow: [[F64; 4]; 3],
        /// order of slices, not used
        pub slice_code: I32,
        /// units of space (bits 0 to 2) and of time (bits 3 to 5)
        pub xyzt_units: I32,
        /// code and name of the meaning, not used
        pub intent_name: [u8; 20],
        /// not used
        pub unused: [u8; 16],
    }
}

/// The header of NIfTI-1 or NIfTI-2: the fields that describe elements and positions.
#[derive(Debug, Clone, PartialEq)]
pub struct NiftiHeader {
    pub(super) second: bool,
    big: bool,
    /// Whether the elements are in the same file.
    single: bool,
    dim: [i64; 8],
    datatype: i32,
    pixdim: [f64; 8],
    vox_offset: f64,
    slope: f64,
    inter: f64,
    units: i32,
    toffset: f64,
    qform: i32,
    sform: i32,
    quatern: [f64; 3],
    qoffset: [f64; 3],
    srow: [[f64; 4]; 3],
}

impl NiftiHeader {
    /// Parses a header, which is recognized by its size and magic.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        if let Ok((stored, _)) = Nifti1::read_from_prefix(bytes)
            && let Some(big) = [false, true]
                .into_iter()
                .find(|big| in_order(&stored, *big).size.get() == 348)
        {
            let one = in_order(&stored, big);
            let single = is_single(&one.magic, *b"n+1", *b"ni1")?;
            let float = |all: [F32; 3]| all.map(|number| f64::from(number.get()));
            return Some(Self {
                second: false,
                big,
                single,
                dim: one.dim.map(|extent| i64::from(extent.get())),
                datatype: i32::from(one.datatype.get()),
                pixdim: one.pixdim.map(|size| f64::from(size.get())),
                vox_offset: f64::from(one.vox_offset.get()),
                slope: f64::from(one.scl_slope.get()),
                inter: f64::from(one.scl_inter.get()),
                units: i32::from(one.xyzt_units),
                toffset: f64::from(one.toffset.get()),
                qform: i32::from(one.qform_code.get()),
                sform: i32::from(one.sform_code.get()),
                quatern: float(one.quatern),
                qoffset: float(one.qoffset),
                srow: one
                    .srow
                    .map(|row| row.map(|number| f64::from(number.get()))),
            });
        }
        let (stored, _) = Nifti2::read_from_prefix(bytes).ok()?;
        let big = [false, true]
            .into_iter()
            .find(|big| in_order(&stored, *big).size.get() == 540)?;
        let one = in_order(&stored, big);
        #[expect(
            clippy::cast_precision_loss,
            reason = "an offset beyond 2^53 is refused, rounded or not"
        )]
        let vox_offset = one.vox_offset.get() as f64;
        Some(Self {
            second: true,
            big,
            single: is_single(&one.magic, *b"n+2", *b"ni2")?,
            dim: one.dim.map(I64::get),
            datatype: i32::from(one.datatype.get()),
            pixdim: one.pixdim.map(F64::get),
            vox_offset,
            slope: one.scl_slope.get(),
            inter: one.scl_inter.get(),
            units: one.xyzt_units.get(),
            toffset: one.toffset.get(),
            qform: one.qform_code.get(),
            sform: one.sform_code.get(),
            quatern: one.quatern.map(F64::get),
            qoffset: one.qoffset.map(F64::get),
            srow: one.srow.map(|row| row.map(F64::get)),
        })
    }

    /// The first byte of a field.
    const fn at(&self, first: usize, second: usize) -> usize {
        if self.second { second } else { first }
    }

    pub(super) fn shape(&self) -> Result<Vec<u64>, HeaderError> {
        let at = self.at(offset_of!(Nifti1, dim), offset_of!(Nifti2, dim));
        let [axes, extents @ ..] = self.dim;
        let stated = usize::try_from(axes)
            .ok()
            .filter(|axes| (1..=7).contains(axes));
        let extents = stated.and_then(|axes| extents.get(..axes));
        let Some(extents) = extents else {
            return Err(HeaderError {
                at,
                field: "dim[0]",
                found: axes.to_string(),
                expected: "1 to 7 axes",
            });
        };
        let mut shape = Vec::new();
        for (axis, stated) in extents.iter().enumerate() {
            let at = at + (axis + 1) * self.at(size_of::<I16>(), size_of::<I64>());
            shape.push(extent(*stated, at, "dim")?);
        }
        while shape.len() < 3 {
            shape.push(1);
        }
        Ok(shape)
    }

    pub(super) fn element(&self) -> Result<ImageElement, HeaderError> {
        let (letter, size, channels) = match self.datatype {
            2 => ('u', 1, 1),
            4 => ('i', 2, 1),
            8 => ('i', 4, 1),
            16 => ('f', 4, 1),
            32 => ('c', 8, 1),
            64 => ('f', 8, 1),
            128 => ('u', 1, 3),
            256 => ('i', 1, 1),
            512 => ('u', 2, 1),
            768 => ('u', 4, 1),
            1024 => ('i', 8, 1),
            1280 => ('u', 8, 1),
            1536 => ('V', 16, 1),
            1792 => ('c', 16, 1),
            2048 => ('V', 32, 1),
            2304 => ('u', 1, 4),
            other => {
                return Err(HeaderError {
                    at: self.at(offset_of!(Nifti1, datatype), offset_of!(Nifti2, datatype)),
                    field: "datatype",
                    found: format!("code {other}"),
                    expected: "the code of a type of whole bytes",
                });
            }
        };
        Ok(ImageElement {
            text: numpy(letter, size, self.big),
            size,
            channels,
        })
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the offset is a whole number from 348 to 2^53"
    )]
    pub(super) fn offset(&self) -> Result<u64, HeaderError> {
        let at = self.at(
            offset_of!(Nifti1, vox_offset),
            offset_of!(Nifti2, vox_offset),
        );
        if !self.single {
            return Err(HeaderError {
                at: self.at(offset_of!(Nifti1, magic), offset_of!(Nifti2, magic)),
                field: "magic",
                found: "a header whose elements are in a second file (.img)".to_owned(),
                expected: "one file (.nii)",
            });
        }
        let found = self.vox_offset;
        let least = if self.second { 540.0 } else { 348.0 };
        if found.fract() != 0.0 || !(least..=2_f64.powi(53)).contains(&found) {
            return Err(HeaderError {
                at,
                field: "vox_offset",
                found: found.to_string(),
                expected: "a byte after the header",
            });
        }
        Ok(found as u64)
    }

    pub(super) fn scaling(&self) -> Result<Option<(f64, f64)>, HeaderError> {
        let (slope, inter) = (self.slope, self.inter);
        if slope == 0.0 || !slope.is_finite() {
            return Ok(None);
        }
        if !inter.is_finite() {
            return Err(HeaderError {
                at: self.at(offset_of!(Nifti1, scl_inter), offset_of!(Nifti2, scl_inter)),
                field: "scl_inter",
                found: inter.to_string(),
                expected: "a finite number beside a slope",
            });
        }
        Ok(((slope, inter) != (1.0, 0.0)).then_some((slope, inter)))
    }

    pub(super) fn time(&self) -> Option<((f64, f64), &'static str)> {
        let unit = match self.units & 0x38 {
            8 => "second",
            16 => "millisecond",
            24 => "microsecond",
            _ => return None,
        };
        let [_, _, _, _, step, ..] = self.pixdim;
        let is_usable = step.is_finite() && step != 0.0 && self.toffset.is_finite();
        is_usable.then_some(((self.toffset, step), unit))
    }

    fn unit(&self) -> Option<&'static str> {
        match self.units & 7 {
            1 => Some("meter"),
            2 => Some("millimeter"),
            3 => Some("micrometer"),
            _ => None,
        }
    }

    pub(super) fn affine(&self) -> Result<StatedAffine, HeaderError> {
        let named = |name: &str, code| match space(code) {
            Some(space) => format!("{name} ({space})"),
            None => format!("{name} (code {code})"),
        };
        let (affine, source) = if self.sform != 0 {
            let at = self.at(offset_of!(Nifti1, srow), offset_of!(Nifti2, srow));
            let affine = map(self.srow.as_flattened(), at, "srow")?;
            (affine, named("sform", self.sform))
        } else if self.qform != 0 {
            (self.of_quaternion()?, named("qform", self.qform))
        } else {
            (self.of_sizes()?, "voxel sizes around the middle".to_owned())
        };
        Ok(StatedAffine {
            affine,
            unit: self.unit(),
            source: Some(source),
        })
    }

    pub(super) fn remark(&self) -> Option<String> {
        if self.sform == 0 {
            let [axes, ..] = self.dim;
            let [_, sizes @ ..] = self.pixdim;
            let is_odd = (0..axes)
                .zip(sizes.iter().zip(self.sizes()))
                .any(|(_, (stated, size))| *stated != size);
            let remark = "voxel sizes of 0 are taken for 1, and negative ones without their sign, as nibabel does";
            return is_odd.then(|| remark.to_owned());
        }
        if self.qform == 0 {
            return None;
        }
        let (sform, qform) = (self.affine().ok()?.affine, self.of_quaternion().ok()?);
        let near = |row: usize, column: usize, one: f64| {
            (one - sform.rows().get(row)?.get(column)?)
                .abs()
                .le(&1e-3)
                .then_some(())
        };
        let rows = qform.rows();
        let mut all = rows.iter().enumerate();
        let same = all.all(|(row, numbers)| {
            let mut numbers = numbers.iter().enumerate();
            numbers.all(|(column, one)| near(row, column, *one).is_some())
        });
        (!same).then(|| "sform and qform differ: the sform is used".to_owned())
    }

    /// Sizes of a voxel along the axes of space, without their signs. A size of 0, as of unused axes, counts as 1.
    fn sizes(&self) -> [f64; 3] {
        let [_, x, y, z, ..] = self.pixdim;
        [x, y, z].map(|size| if size == 0.0 { 1.0 } else { size.abs() })
    }

    fn of_quaternion(&self) -> Result<crate::Affine, HeaderError> {
        let at = self.at(offset_of!(Nifti1, quatern), offset_of!(Nifti2, quatern));
        let wrong = |found: String| HeaderError {
            at,
            field: "quatern",
            found,
            expected: "a rotation",
        };
        let turn = rotation(self.quatern, self.second).map_err(wrong)?;
        // Every other value counts as 1; 0 is used for an image without a handedness.
        let [hand, ..] = self.pixdim;
        let [x, y, z] = self.sizes();
        let sizes = [x, y, if hand == -1.0 { -z } else { z }];
        let mut rows = Vec::new();
        for (row, offset) in turn.iter().zip(self.qoffset) {
            rows.extend(row.iter().zip(&sizes).map(|(one, size)| one * size));
            rows.push(offset);
        }
        map(&rows, at, "quatern")
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "extents of images are far below 2^53"
    )]
    fn of_sizes(&self) -> Result<crate::Affine, HeaderError> {
        let [axes, extents @ ..] = self.dim;
        let mut rows = Vec::new();
        for (row, (extent, size)) in extents.into_iter().zip(self.sizes()).enumerate() {
            let is_stated = usize::try_from(axes).is_ok_and(|axes| row < axes);
            let (extent, size) = if is_stated {
                (extent as f64, size)
            } else {
                (1.0, 1.0)
            };
            let size = if row == 0 { -size } else { size };
            rows.extend((0..3).map(|column| if column == row { size } else { 0.0 }));
            rows.push(-(extent - 1.0) / 2.0 * size);
        }
        let at = self.at(offset_of!(Nifti1, pixdim), offset_of!(Nifti2, pixdim));
        map(&rows, at, "pixdim")
    }
}

/// Returns a header with its numbers in little-endian order.
fn in_order<T: Layout + zerocopy::IntoBytes + Copy>(stored: &T, big: bool) -> T {
    if big { stored.byte_swapped() } else { *stored }
}

/// Whether the elements are in the same file; `None` if the magic is unknown.
fn is_single(magic: &[u8], one: [u8; 3], two: [u8; 3]) -> Option<bool> {
    let is_one = magic.starts_with(&one);
    (is_one || magic.starts_with(&two)).then_some(is_one)
}

/// The space that a code of qform or sform denotes.
const fn space(code: i32) -> Option<&'static str> {
    match code {
        1 => Some("scanner"),
        2 => Some("aligned"),
        3 => Some("Talairach"),
        4 => Some("MNI"),
        5 => Some("template"),
        _ => None,
    }
}

/// The rotation of a quaternion, given by its last three numbers. `second`: whether they have the precision of NIfTI-2.
fn rotation([b, c, d]: [f64; 3], second: bool) -> Result<[[f64; 3]; 3], String> {
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

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::{Nifti1, Nifti2};

    #[test]
    fn fields_are_where_the_standard_has_them() {
        for (found, wanted) in [
            (offset_of!(Nifti1, dim), 40),
            (offset_of!(Nifti1, datatype), 70),
            (offset_of!(Nifti1, pixdim), 76),
            (offset_of!(Nifti1, vox_offset), 108),
            (offset_of!(Nifti1, xyzt_units), 123),
            (offset_of!(Nifti1, toffset), 136),
            (offset_of!(Nifti1, qform_code), 252),
            (offset_of!(Nifti1, srow), 280),
            (offset_of!(Nifti1, magic), 344),
            (offset_of!(Nifti2, datatype), 12),
            (offset_of!(Nifti2, dim), 16),
            (offset_of!(Nifti2, pixdim), 104),
            (offset_of!(Nifti2, vox_offset), 168),
            (offset_of!(Nifti2, toffset), 216),
            (offset_of!(Nifti2, qform_code), 344),
            (offset_of!(Nifti2, srow), 400),
            (offset_of!(Nifti2, xyzt_units), 500),
        ] {
            assert_eq!(found, wanted);
        }
    }
}
