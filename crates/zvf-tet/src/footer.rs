//! The end of a file: tail, footer and spills, parsed without a JSON library; step 12 of the checks.

use zerocopy::FromBytes;

use crate::error::{Class, Expected, Profile, TetError};
use crate::json::{self, Spill};
use crate::layout::{FooterTail, TAIL_MAGIC};
use zvf_grid::int::wide;

/// The position of the footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FooterPlace {
    /// 1 or 2.
    pub version: u32,
    /// Where the JSON begins.
    pub json_start: u64,
    /// Bytes of the JSON; the tail follows.
    pub json_len: u64,
}

impl FooterPlace {
    /// Parses the end of a file of `file_len` bytes. `floor` is the end of the front (superblock, directory, index).
    /// `end` holds the last 16 bytes of the file, or more.
    ///
    /// # Errors
    /// [`Class::FooterMissing`], [`Class::UnsupportedHistoryVersion`], [`Class::FooterOutOfBounds`].
    pub fn parse(end: &[u8], file_len: u64, floor: u64) -> Result<Self, TetError> {
        let at = file_len.saturating_sub(16);
        let tail = FooterTail::ref_from_suffix(end)
            .ok()
            .map(|(_, tail)| tail)
            .filter(|tail| tail.magic == TAIL_MAGIC && at >= 32);
        let Some(tail) = tail else {
            return Err(TetError::new(
                Class::FooterMissing,
                "footer tail",
                at,
                file_len,
                Expected::Text("`THST` as the last four bytes"),
            ));
        };
        let version = tail.history_version.get();
        if !(1..=2).contains(&version) {
            return Err(TetError::new(
                Class::UnsupportedHistoryVersion,
                "history_version",
                at + 8,
                u64::from(version),
                Expected::Text("1 or 2"),
            ));
        }
        let json_len = tail.history_json_len.get();
        match at.checked_sub(json_len) {
            Some(json_start) if json_start >= floor => Ok(Self {
                version,
                json_start,
                json_len,
            }),
            _ => Err(TetError::new(
                Class::FooterOutOfBounds,
                "history_json_len",
                at,
                json_len,
                Expected::AtMost(at.saturating_sub(floor)),
            )),
        }
    }
}

/// The regions that a footer refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FooterRefs {
    /// The position of the footer.
    pub place: FooterPlace,
    /// Metadata beside the footer.
    pub metadata: Option<Spill>,
    /// Zone maps; under version 1 they do not affect `payload_end`.
    pub zone_maps: Option<Spill>,
    /// Secondary indexes; under version 1 they do not affect `payload_end`.
    pub secondary_index: Option<Spill>,
    /// Where payloads must end.
    pub payload_end: u64,
}

impl FooterRefs {
    /// Scans the footer's JSON for its refs, checks them, and computes `payload_end`. Does not allocate.
    ///
    /// # Errors
    /// [`Class::FooterJson`], [`Class::FooterRefConflict`], [`Class::SpillOutOfBounds`].
    pub fn scan(text: &[u8], place: FooterPlace, floor: u64) -> Result<Self, TetError> {
        let fault = |class, what, found, expected| {
            TetError::new(class, what, place.json_start, found, expected)
        };
        let found = json::scan(text).map_err(|bad| {
            TetError::new(
                Class::FooterJson,
                "footer JSON",
                place.json_start.saturating_add(wide(bad.at)),
                wide(bad.at),
                Expected::Text(bad.expected),
            )
        })?;
        if found.inline_metadata && found.metadata.is_some() {
            return Err(fault(
                Class::FooterRefConflict,
                "metadata_ref",
                1,
                Expected::Text("metadata in the footer or beside it, not both"),
            ));
        }
        let counted = [
            ("metadata_ref", found.metadata),
            (
                "zone_maps_ref",
                found.zone_maps.filter(|_| place.version == 2),
            ),
            (
                "secondary_index_ref",
                found.secondary_index.filter(|_| place.version == 2),
            ),
        ];
        let mut payload_end = place.json_start;
        for (what, spill) in counted {
            let Some(spill) = spill else { continue };
            let stop = spill.offset.saturating_add(spill.len);
            if stop > place.json_start {
                return Err(fault(
                    Class::SpillOutOfBounds,
                    what,
                    stop,
                    Expected::AtMost(place.json_start),
                ));
            }
            payload_end = payload_end
                .checked_sub(spill.len)
                .filter(|end| *end >= floor)
                .ok_or_else(|| {
                    fault(
                        Class::SpillOutOfBounds,
                        what,
                        spill.len,
                        Expected::AtMost(payload_end.saturating_sub(floor)),
                    )
                })?;
        }
        Ok(Self {
            place,
            metadata: found.metadata,
            zone_maps: found.zone_maps,
            secondary_index: found.secondary_index,
            payload_end,
        })
    }

    /// Parses the end of `bytes`, a whole file whose front ends at `floor`.
    ///
    /// # Errors
    /// As [`FooterPlace::parse`] and [`Self::scan`].
    pub fn of_file(bytes: &[u8], floor: u64) -> Result<Self, TetError> {
        let place = FooterPlace::parse(bytes, wide(bytes.len()), floor)?;
        let text = usize::try_from(place.json_start)
            .ok()
            .zip(usize::try_from(place.json_len).ok())
            .and_then(|(start, len)| bytes.get(start..start.checked_add(len)?))
            .unwrap_or(&[]);
        Self::scan(text, place, floor)
    }

    /// Step 19 for the end of the file, strict profile only: version 1 has no zone maps or indexes, and spills are
    /// adjacent.
    ///
    /// # Errors
    /// [`Class::SpillInV1`], [`Class::SpillNotAdjacent`].
    pub fn check(&self, profile: Profile) -> Result<(), TetError> {
        if profile == Profile::Lenient {
            return Ok(());
        }
        let at = self.place.json_start;
        let hints = [
            ("zone_maps_ref", self.zone_maps),
            ("secondary_index_ref", self.secondary_index),
        ];
        if self.place.version == 1
            && let Some((what, Some(spill))) = hints.iter().find(|(_, spill)| spill.is_some())
        {
            return Err(TetError::new(
                Class::SpillInV1,
                what,
                at,
                spill.offset,
                Expected::Text("no such reference in version 1"),
            ));
        }
        let mut next = self.payload_end;
        for (what, spill) in hints.into_iter().chain([("metadata_ref", self.metadata)]) {
            let Some(spill) = spill else { continue };
            if spill.offset != next {
                return Err(TetError::new(
                    Class::SpillNotAdjacent,
                    what,
                    at,
                    spill.offset,
                    Expected::Exactly(next),
                ));
            }
            next = next.saturating_add(spill.len);
        }
        Ok(())
    }
}
