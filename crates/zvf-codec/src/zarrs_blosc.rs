//! Blosc for `zarrs`. It replaces the Blosc codec of `zarrs`, which needs the C library and a C++ library for Snappy.

use std::any::Any;
use std::borrow::Cow;
use std::sync::{Arc, Once};

use zarrs::array::codec::api::{
    CodecRuntimePluginV2, CodecRuntimePluginV3, PartialDecoderCapability, PartialEncoderCapability,
    register_codec_v2, register_codec_v3,
};
use zarrs::array::{
    ArrayBytesRaw, BytesRepresentation, BytesToBytesCodecTraits, Codec as Made, CodecError,
    CodecMetadataOptions, CodecOptions, CodecTraits, RecommendedConcurrency,
};
use zarrs::metadata::{Configuration, v2::MetadataV2, v3::MetadataV3};
use zarrs::plugin::{ExtensionName, ZarrVersion};

use crate::blosc;

/// The name of the codec in metadata of Zarr 2 and 3.
const NAME: &str = "blosc";

/// The limit for a chunk whose decoded size `zarrs` does not know: the largest size of a frame.
const MOST: u64 = i32::MAX as u64;

/// Registers the codec `blosc`, which uses `zvf-blosc`, with `zarrs`: for reading arrays of Zarr 2 and 3 and, with the feature `encode`, for writing
/// arrays of Zarr 3. Call this before arrays are opened; further calls have no effect.
pub fn register_blosc() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let named = |name: &str| name == NAME;
        register_codec_v3(CodecRuntimePluginV3::new(named, |metadata: &MetadataV3| {
            let blosc = Blosc {
                configuration: metadata.configuration().cloned().unwrap_or_default(),
            };
            Ok(Made::BytesToBytes(Arc::new(blosc)))
        }));
        register_codec_v2(CodecRuntimePluginV2::new(named, |_: &MetadataV2| {
            Ok(Made::BytesToBytes(Arc::new(Blosc::default())))
        }));
    });
}

/// The codec. Reading needs no configuration, because a frame states its own settings.
#[derive(Debug, Default)]
struct Blosc {
    configuration: Configuration,
}

impl ExtensionName for Blosc {
    fn name(&self, _: ZarrVersion) -> Option<Cow<'static, str>> {
        Some(Cow::Borrowed(NAME))
    }
}

impl CodecTraits for Blosc {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn configuration(&self, _: ZarrVersion, _: &CodecMetadataOptions) -> Option<Configuration> {
        Some(self.configuration.clone())
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        PartialDecoderCapability {
            partial_read: false,
            partial_decode: false,
        }
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        PartialEncoderCapability {
            partial_encode: false,
        }
    }
}

impl BytesToBytesCodecTraits for Blosc {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn BytesToBytesCodecTraits> {
        self
    }

    fn recommended_concurrency(
        &self,
        _: &BytesRepresentation,
    ) -> Result<RecommendedConcurrency, CodecError> {
        Ok(RecommendedConcurrency::new_maximum(1))
    }

    fn encoded_representation(&self, _: &BytesRepresentation) -> BytesRepresentation {
        BytesRepresentation::UnboundedSize
    }

    #[cfg(feature = "encode")]
    fn encode<'a>(
        &self,
        bytes: ArrayBytesRaw<'a>,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        let configuration = serde_json::to_value(&self.configuration)
            .map_err(|error| CodecError::Other(error.to_string()))?;
        let codec = zvf_meta::Codec {
            configuration,
            ..zvf_meta::Codec::named(NAME)
        };
        let settings = blosc::settings(&codec).map_err(CodecError::Other)?;
        let frame = blosc::encode(settings, &bytes);
        frame
            .map(Cow::Owned)
            .map_err(|error| CodecError::Other(error.to_string()))
    }

    #[cfg(not(feature = "encode"))]
    fn encode<'a>(
        &self,
        _: ArrayBytesRaw<'a>,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        let what = "this build does not write Blosc frames";
        Err(CodecError::Other(what.to_owned()))
    }

    fn decode<'a>(
        &self,
        frame: ArrayBytesRaw<'a>,
        decoded: &BytesRepresentation,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        let limit = decoded.size().unwrap_or(MOST);
        let bytes = blosc::decode(&frame, limit);
        bytes
            .map(Cow::Owned)
            .map_err(|error| CodecError::Other(error.to_string()))
    }
}
