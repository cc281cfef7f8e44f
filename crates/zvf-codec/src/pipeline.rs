//! Encodes by a list of codecs, given by names and configurations: codecs of the `zarrs` crate, Blosc and Fletcher-32.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::Error;
use std::sync::Arc;

use zarrs::array::{BytesToBytesCodecTraits, CodecOptions};
use zvf_blosc::Settings;
use zvf_meta::Codec;

use crate::isolate::isolate;
use crate::{CodecError, blosc, fletcher32, foreign, names};

/// A list of codecs, ready to be used.
#[derive(Debug, Clone)]
struct PreparedCodecs {
    codecs: Vec<Codec>,
    made: Arc<[PreparedCodec]>,
}

/// A codec, ready to be used.
#[derive(Debug, Clone)]
enum PreparedCodec {
    /// By `zvf-blosc`.
    Blosc(Settings),
    /// One of `zarrs`.
    Zarrs(Arc<dyn BytesToBytesCodecTraits>),
    /// Implemented here, because `zarrs` 0.23.14 computes a wrong checksum for an odd number of bytes.
    Fletcher32,
}

impl PreparedCodec {
    fn new(codec: &Codec) -> Result<Self, String> {
        match codec.name.as_str() {
            "blosc" => match blosc::settings(codec) {
                Ok(settings) => Ok(Self::Blosc(settings)),
                Err(why) => Err(format!("blosc: {why}")),
            },
            "numcodecs.fletcher32" => Ok(Self::Fletcher32),
            _ => foreign::make(codec).map(Self::Zarrs),
        }
    }

    fn encode<'a>(&self, bytes: Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>, String> {
        match self {
            Self::Blosc(settings) => blosc::encode(*settings, &bytes)
                .map(Cow::Owned)
                .map_err(|error| error.to_string()),
            Self::Zarrs(codec) => codec
                .encode(bytes, &CodecOptions::default())
                .map_err(|error| error.to_string()),
            Self::Fletcher32 => {
                let sum = fletcher32::sum(&bytes);
                let mut bytes = bytes.into_owned();
                bytes.extend_from_slice(&sum.to_le_bytes());
                Ok(Cow::Owned(bytes))
            }
        }
    }
}

thread_local! {
    /// The list of codecs that last encoded something, cached because creating codecs parses their configurations.
    static LAST: RefCell<Option<PreparedCodecs>> = const { RefCell::new(None) };
}

impl PreparedCodecs {
    /// Creates the codecs. The error names the one that cannot be created, and the reason.
    fn new(codecs: &[Codec]) -> Result<Self, String> {
        let made: Result<Arc<[_]>, String> = codecs.iter().map(PreparedCodec::new).collect();
        Ok(Self {
            codecs: codecs.to_vec(),
            made: made?,
        })
    }

    fn encode(&self, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        let mut bytes = Cow::Owned(bytes);
        for (codec, made) in self.codecs.iter().zip(self.made.iter()) {
            let encoded = made.encode(bytes);
            bytes = encoded.map_err(|why| format!("{}: {why}", codec.name))?;
        }
        Ok(bytes.into_owned())
    }
}

/// Tests the codecs on some bytes, because some of them accept any configuration and fail only when they are used. A list is not tested again if this
/// thread used it for the last encoding: the arrays of a level mostly have the same codecs, and a test of bzip2 takes 4 ms.
///
/// # Errors
/// The codec that fails, and why.
pub(crate) fn check(codecs: &[Codec]) -> Result<(), String> {
    // Divisible by many sizes of elements.
    const SOME: u16 = 55_440;
    if LAST.with_borrow(|last| last.as_ref().is_some_and(|last| last.codecs == codecs)) {
        return Ok(());
    }
    let some = (0..SOME).map(|n| n.to_le_bytes()[0]).collect();
    try_encode(codecs, some).map(|_| ())
}

/// Applies the codecs to the bytes of one chunk.
pub(crate) fn encode(codecs: &[Codec], bytes: Vec<u8>) -> Result<Vec<u8>, CodecError> {
    try_encode(codecs, bytes).map_err(|why| CodecError::Library(Error::other(why)))
}

/// Encodes with the cached codecs if they are the same, and caches codecs that succeeded.
fn try_encode(codecs: &[Codec], bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let last = LAST.take().filter(|last| last.codecs == codecs);
    let pipeline = match last {
        Some(pipeline) => pipeline,
        None => PreparedCodecs::new(codecs)?,
    };
    let encoded = isolate(|| pipeline.encode(bytes))
        .unwrap_or_else(|panic| Err(format!("{}: encoding fails ({panic})", names(codecs))))?;
    LAST.set(Some(pipeline));
    Ok(encoded)
}
