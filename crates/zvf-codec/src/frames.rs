//! Settings of Blosc frames; writers choose among them.

use serde_json::{Value, json};
use zvf_blosc::{Codec as Library, EncodeError, FirstFilter, Generation, LastFilter, Settings};

use crate::{CodecError, blosc};

/// The compressor inside of Blosc frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BloscLibrary {
    /// LZ4: the fastest to read.
    Lz4,
    /// Zstandard at level 1: smaller.
    Zstd,
}

/// Settings of Blosc-1 frames with independent blocks and a byte shuffle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BloscFrames {
    /// The compressor of the blocks.
    pub library: BloscLibrary,
    /// Bytes of an item, 1 or more. Items of 1 byte are not shuffled.
    pub items: u8,
    /// Bytes of a block; rounded down to whole items.
    pub block: u32,
}

impl BloscFrames {
    /// The same settings for an array of items of `bytes` bytes. An item size that is a multiple of
    /// `bytes` is kept.
    #[must_use]
    pub(crate) fn of_items(self, bytes: u8) -> Self {
        let rows = self.items.is_multiple_of(bytes.max(1));
        let items = if rows { self.items } else { bytes };
        Self { items, ..self }
    }

    pub(crate) fn check(self) -> Result<(), CodecError> {
        let block = self.block;
        if self.items == 0 || block < u32::from(self.items) || block > 1 << 30 {
            let found = format!("blosc of items of {} bytes, blocks of {block}", self.items);
            let expected = "items of 1 to 255 bytes, blocks of at least one item, at most 2^30";
            return Err(CodecError::specification(found, expected));
        }
        Ok(())
    }

    /// Bytes of a block, rounded down to whole items.
    const fn block_bytes(self) -> u32 {
        match self.block.checked_rem(self.items as u32) {
            Some(rest) => self.block - rest,
            None => self.block,
        }
    }

    /// The configuration of the codec in documents.
    pub(crate) fn configuration(self) -> Value {
        let (library, level) = match self.library {
            BloscLibrary::Lz4 => ("lz4", 5),
            BloscLibrary::Zstd => ("zstd", 1),
        };
        let shuffle = if self.items > 1 {
            "shuffle"
        } else {
            "noshuffle"
        };
        json!({
            "typesize": self.items, "cname": library, "clevel": level, "shuffle": shuffle,
            "blocksize": self.block_bytes(),
        })
    }

    /// Parses the compressor, item size and block size of a configuration; ignores other members.
    pub(crate) fn of(configuration: &Value) -> Option<Self> {
        let number = |name: &str| configuration.get(name)?.as_u64();
        let library = match configuration.get("cname")?.as_str()? {
            "lz4" => BloscLibrary::Lz4,
            "zstd" => BloscLibrary::Zstd,
            _ => return None,
        };
        let found = Self {
            library,
            items: u8::try_from(number("typesize")?).ok()?,
            block: u32::try_from(number("blocksize")?).ok()?,
        };
        found.check().is_ok().then_some(found)
    }

    /// The settings of the encoder.
    pub(crate) fn settings(self) -> Settings {
        let (library, level) = match self.library {
            BloscLibrary::Lz4 => (Library::Lz4, 0),
            BloscLibrary::Zstd => (Library::Zstd, 1),
        };
        let last = if self.items > 1 {
            LastFilter::Shuffle
        } else {
            LastFilter::None
        };
        let mut settings = Settings::new(usize::from(self.items), self.block_bytes() as usize)
            .with_format(Generation::Blosc1)
            .with_codec(Some(library))
            .with_filters(FirstFilter::None, last);
        settings.level = level;
        settings
    }

    /// Compresses the bytes of one chunk.
    pub(crate) fn encode(self, bytes: &[u8]) -> Result<Vec<u8>, EncodeError> {
        blosc::encode(self.settings(), bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_state_what_is_written() {
        for library in [BloscLibrary::Lz4, BloscLibrary::Zstd] {
            for items in [1, 4, 12, 255] {
                for block in [16 << 10, 128 << 10] {
                    let frames = BloscFrames {
                        library,
                        items,
                        block,
                    };
                    let codecs = crate::Compression::Frames(frames).codecs();
                    assert_eq!(blosc::settings(&codecs[0]), Ok(frames.settings()));
                    assert_eq!(blosc_of(&codecs[0]), frames.configuration());
                }
            }
        }
    }

    fn blosc_of(codec: &zvf_meta::Codec) -> Value {
        let found = BloscFrames::of(&codec.configuration).unwrap();
        found.configuration()
    }

    #[test]
    fn frames_without_items_are_refused() {
        let good = BloscFrames {
            library: BloscLibrary::Zstd,
            items: 4,
            block: 16 << 10,
        };
        assert!(good.check().is_ok());
        assert!(BloscFrames { items: 0, ..good }.check().is_err());
        assert!(BloscFrames { block: 3, ..good }.check().is_err());
        assert!(
            BloscFrames {
                block: u32::MAX,
                ..good
            }
            .check()
            .is_err()
        );
        // Rows of three 4-byte floats stay rows; 12 bytes are not a row of 8-byte items.
        let rows = BloscFrames { items: 12, ..good };
        assert_eq!(rows.of_items(4).items, 12);
        assert_eq!(rows.of_items(8).items, 8);
    }
}
