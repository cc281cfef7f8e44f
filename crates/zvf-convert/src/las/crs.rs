//! The coordinate reference system of a file.

use serde_json::{Value, json};
use zvf_format::layout::Wire;

use super::layout::GeoKey;

/// Keys of projected, geographic and vertical systems.
const PROJECTED: u16 = 3072;
const GEOGRAPHIC: u16 = 2048;
const VERTICAL: u16 = 4096;

/// The text of a record with WKT.
pub(super) fn wkt(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?;
    let text = text.trim_end_matches('\0').trim();
    (!text.is_empty()).then(|| json!(text))
}

/// The codes of EPSG in a directory of GeoTIFF keys: `EPSG:25832`, with a vertical system `EPSG:25832+7837`.
pub(super) fn geotiff(bytes: &[u8]) -> Option<Value> {
    let keys = GeoKey::several(bytes, bytes.len() / size_of::<GeoKey>())?;
    let code = |id: u16| {
        let found = keys
            .iter()
            .skip(1)
            .find(|key| key.id.get() == id && key.location.get() == 0)?;
        // 0: undefined, 32767: defined by other keys.
        Some(found.value.get()).filter(|code| !matches!(code, 0 | 32767))
    };
    let horizontal = code(PROJECTED).or_else(|| code(GEOGRAPHIC))?;
    Some(match code(VERTICAL) {
        Some(vertical) => json!(format!("EPSG:{horizontal}+{vertical}")),
        None => json!(format!("EPSG:{horizontal}")),
    })
}
