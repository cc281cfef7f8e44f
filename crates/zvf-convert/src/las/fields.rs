//! The fields of a point by point format, declared once for reading and writing.

/// The location of a column's value in a point.
#[derive(Debug, Clone, Copy)]
pub(super) enum FieldLocation {
    /// Some bits of a byte.
    Bits { at: usize, shift: u8, mask: u8 },
    /// `count` numbers of a type, whose code is 1 to 10 as in the record of extra bytes.
    Numbers { at: usize, kind: u8, count: usize },
    /// Numbers that become float64: each is multiplied by its scale, then its offset is added.
    Scaled {
        at: usize,
        kind: u8,
        count: usize,
        scale: [f64; 3],
        offset: [f64; 3],
    },
}

/// Codes of number types in the record of extra bytes.
pub(super) const U1: u8 = 1;
pub(super) const I1: u8 = 2;
pub(super) const U2: u8 = 3;
pub(super) const I2: u8 = 4;
pub(super) const I4: u8 = 6;
pub(super) const F8: u8 = 10;

/// The first point format with 4 bits for returns, 8 for classes and angles of 16 bits.
pub(super) const LATE: u8 = 6;

/// The fields of a point format by their names in laspy, without coordinates, waveforms and extra bytes.
pub(super) fn of_format(format: u8) -> Vec<(&'static str, FieldLocation)> {
    let one = |at, kind| FieldLocation::Numbers { at, kind, count: 1 };
    let bits = |at, shift, mask| FieldLocation::Bits { at, shift, mask };
    let mut all = vec![("intensity", one(12, U2))];
    let is_late = format >= LATE;
    if is_late {
        all.extend([
            (RETURN, bits(14, 0, 15)),
            (RETURNS, bits(14, 4, 15)),
            ("scan_direction_flag", bits(15, 6, 1)),
            ("edge_of_flight_line", bits(15, 7, 1)),
            (CLASS, one(16, U1)),
            ("synthetic", bits(15, 0, 1)),
            ("key_point", bits(15, 1, 1)),
            ("withheld", bits(15, 2, 1)),
            ("overlap", bits(15, 3, 1)),
            ("scanner_channel", bits(15, 4, 3)),
            ("scan_angle", one(18, I2)),
        ]);
    } else {
        all.extend([
            (RETURN, bits(14, 0, 7)),
            (RETURNS, bits(14, 3, 7)),
            ("scan_direction_flag", bits(14, 6, 1)),
            ("edge_of_flight_line", bits(14, 7, 1)),
            (CLASS, bits(15, 0, 31)),
            ("synthetic", bits(15, 5, 1)),
            ("key_point", bits(15, 6, 1)),
            ("withheld", bits(15, 7, 1)),
            (ANGLE_RANK, one(16, I1)),
        ]);
    }
    all.push(("user_data", one(17, U1)));
    all.push(("point_source_id", one(if is_late { 20 } else { 18 }, U2)));
    let time = match format {
        0 | 2 => None,
        1 | 3..=5 => Some(20),
        _ => Some(22),
    };
    all.extend(time.map(|at| (TIME, one(at, F8))));
    let colour = match format {
        2 => Some(20),
        3 | 5 => Some(28),
        7 | 8 | 10 => Some(30),
        _ => None,
    };
    if let Some(at) = colour {
        all.extend([
            ("red", one(at, U2)),
            ("green", one(at + 2, U2)),
            ("blue", one(at + 4, U2)),
        ]);
    }
    if matches!(format, 8 | 10) {
        all.push(("nir", one(36, U2)));
    }
    all
}

/// The standard classes of point formats below [`LATE`]; later formats have the classes below 8, and [`LATE_CLASSES`].
const EARLY_CLASSES: [(u8, &str); 11] = [
    (0, "never classified"),
    (1, "unclassified"),
    (2, "ground"),
    (3, "low vegetation"),
    (4, "medium vegetation"),
    (5, "high vegetation"),
    (6, "building"),
    (7, "low point (noise)"),
    (8, "model key-point"),
    (9, "water"),
    (12, "overlap"),
];
const LATE_CLASSES: [(u8, &str); 13] = [
    (9, "water"),
    (10, "rail"),
    (11, "road surface"),
    (13, "wire guard (shield)"),
    (14, "wire conductor (phase)"),
    (15, "transmission tower"),
    (16, "wire-structure connector"),
    (17, "bridge deck"),
    (18, "high noise"),
    (19, "overhead structure"),
    (20, "ignored ground"),
    (21, "snow"),
    (22, "temporal exclusion"),
];

/// The standard names of the classes of a point format. Source: LAS 1.4, ASPRS standard point classes.
pub(super) fn classes(format: u8) -> std::collections::BTreeMap<u8, String> {
    let own = |(class, name): &(u8, &str)| (*class, (*name).to_owned());
    let early = EARLY_CLASSES.iter();
    match format >= LATE {
        true => early.take(8).chain(&LATE_CLASSES).map(own).collect(),
        false => early.map(own).collect(),
    }
}

/// Number of a return, and returns of its pulse.
pub(super) const RETURN: &str = "return_number";
pub(super) const RETURNS: &str = "number_of_returns";
pub(super) const CLASS: &str = "classification";
/// The scan angle in degrees, only in formats below [`LATE`].
pub(super) const ANGLE_RANK: &str = "scan_angle_rank";
pub(super) const TIME: &str = "gps_time";

impl FieldLocation {
    /// The lowest and the highest whole number that a field of at most 16 bits can store; `None` for other fields.
    pub(super) fn range(self) -> Option<(f64, f64)> {
        match self {
            Self::Bits { mask, .. } => Some((0.0, f64::from(mask))),
            Self::Numbers { kind: U1, .. } => Some((0.0, f64::from(u8::MAX))),
            Self::Numbers { kind: I1, .. } => Some((f64::from(i8::MIN), f64::from(i8::MAX))),
            Self::Numbers { kind: U2, .. } => Some((0.0, f64::from(u16::MAX))),
            Self::Numbers { kind: I2, .. } => Some((f64::from(i16::MIN), f64::from(i16::MAX))),
            Self::Numbers { .. } | Self::Scaled { .. } => None,
        }
    }

    /// Whether a field can store a number unchanged.
    pub(super) fn holds(self, value: f64) -> bool {
        match self.range() {
            Some((low, high)) => (low..=high).contains(&value) && value.fract() == 0.0,
            None => true,
        }
    }

    /// Writes a number that the field [`holds`](Self::holds) into a point; `None` if the point is too short or the field is not a single number.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the field holds the number"
    )]
    pub(super) fn put(self, point: &mut [u8], value: f64) -> Option<()> {
        let mut place = |at: usize, bytes: &[u8]| {
            let place = point.get_mut(at..at.checked_add(bytes.len())?)?;
            place.copy_from_slice(bytes);
            Some(())
        };
        match self {
            Self::Bits { at, shift, mask } => {
                let byte = point.get_mut(at)?;
                *byte = *byte & !(mask << shift) | (value as u8 & mask) << shift;
                Some(())
            }
            Self::Numbers { at, kind, count: 1 } => match kind {
                U1 => place(at, &(value as u8).to_le_bytes()),
                I1 => place(at, &(value as i8).to_le_bytes()),
                U2 => place(at, &(value as u16).to_le_bytes()),
                I2 => place(at, &(value as i16).to_le_bytes()),
                F8 => place(at, &value.to_le_bytes()),
                _ => None,
            },
            Self::Numbers { .. } | Self::Scaled { .. } => None,
        }
    }
}
