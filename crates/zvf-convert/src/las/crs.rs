//! The coordinate reference system of a file.

use serde_json::{Value, json};
use zerocopy::IntoBytes;
use zvf_format::layout::Wire;
use zvf_meta::Axis;

use super::layout::GeoKey;
use super::projected::is_projected;

/// Numbers of the records that state the CRS: WKT, and the directory of GeoTIFF keys.
pub(super) const WKT: u16 = 2112;
pub(super) const GEOTIFF: u16 = 34735;
/// Keys of the kind of system, and of projected, geographic and vertical systems.
const KIND: u16 = 1024;
const PROJECTED: u16 = 3072;
const GEOGRAPHIC: u16 = 2048;
const VERTICAL: u16 = 4096;

/// The text of a record with WKT; `None` if it is empty or not UTF-8.
pub(super) fn wkt(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?;
    let text = text.trim_end_matches('\0').trim();
    (!text.is_empty()).then(|| json!(text))
}

/// Keys of a GeoTIFF directory with inline values: number and value.
pub(super) type GeoKeys = Vec<(u16, u16)>;

/// The keys of a directory with inline values. Keys with values in other records are left out.
pub(super) fn keys(bytes: &[u8]) -> Option<GeoKeys> {
    let keys = GeoKey::several(bytes, bytes.len() / size_of::<GeoKey>())?;
    let keys = keys.iter().skip(1).filter(|key| key.location.get() == 0);
    Some(keys.map(|key| (key.id.get(), key.value.get())).collect())
}

/// The EPSG codes in the keys: `EPSG:25832`, or with a vertical system `EPSG:25832+7837`.
pub(super) fn geotiff(keys: &[(u16, u16)]) -> Option<Value> {
    let value = |id: u16| {
        let found = keys.iter().find(|(key, _)| *key == id);
        found.map(|(_, value)| *value)
    };
    // 0: undefined, 32767: defined by other keys.
    let code = |id: u16| value(id).filter(|code| !matches!(code, 0 | 32767));
    // A projected system that other keys define also has the code of the geographic system that it is based on.
    let is_projected = match value(KIND) {
        Some(kind @ (1 | 2)) => kind == 1,
        _ => value(PROJECTED).is_some_and(|code| code != 0),
    };
    let horizontal = code(if is_projected { PROJECTED } else { GEOGRAPHIC })?;
    Some(match code(VERTICAL) {
        Some(vertical) => json!(format!("EPSG:{horizontal}+{vertical}")),
        None => json!(format!("EPSG:{horizontal}")),
    })
}

/// The record that states a CRS: its number and its bytes. `own` are the keys of the file that the store was made from.
///
/// # Errors
/// The reason why no record can state it.
pub(super) fn record(
    crs: &str,
    own: Option<&[(u16, u16)]>,
    axes: &[Axis],
) -> Result<(u16, Vec<u8>), &'static str> {
    let Some(codes) = crs.strip_prefix("EPSG:") else {
        if !crs.contains(['[', '(']) {
            return Err("it is neither WKT nor a code of EPSG");
        }
        let mut text = crs.as_bytes().to_vec();
        text.push(0);
        return Ok((WKT, text));
    };
    let keys = match own.filter(|own| geotiff(own).is_some_and(|found| found == crs)) {
        Some(own) => own.to_vec(),
        None => of_codes(codes, axes)?,
    };
    let count = u16::try_from(keys.len()).map_err(|_| "it has more than 65535 keys")?;
    let head = GeoKey {
        id: 1.into(),
        location: 1.into(),
        count: 0.into(),
        value: count.into(),
    };
    let rest = keys.iter().map(|(id, value)| GeoKey {
        id: (*id).into(),
        location: 0.into(),
        count: 1.into(),
        value: (*value).into(),
    });
    let all: Vec<GeoKey> = std::iter::once(head).chain(rest).collect();
    Ok((GEOTIFF, all.as_bytes().to_vec()))
}

/// The keys for codes: `25832`, or `25832+7837`. Projected and geographic systems have different keys; other systems, such as geocentric ones, are
/// not written as keys. A system is geographic if the unit of the first axis is an angle, projected if its code is in the list of projected codes,
/// and else geographic if the axis has no unit and the code is in the range that GeoTIFF 1.0 reserves for geographic systems.
fn of_codes(codes: &str, axes: &[Axis]) -> Result<GeoKeys, &'static str> {
    let (horizontal, vertical) = match codes.split_once('+') {
        Some((horizontal, vertical)) => (horizontal, Some(vertical)),
        None => (codes, None),
    };
    let code = |text: &str| {
        let code = text.parse::<u16>().ok();
        code.filter(|code| !matches!(code, 0 | 32767))
            .ok_or("GeoTIFF keys hold codes from 1 to 65535, except 32767")
    };
    let horizontal = code(horizontal)?;
    let unit = axes.first().and_then(|axis| axis.unit.as_deref());
    let (kind, key) = match (unit, horizontal) {
        (Some("degree" | "radian"), _) => (2, GEOGRAPHIC),
        _ if is_projected(horizontal) => (1, PROJECTED),
        (None, 4201..=4326) => (2, GEOGRAPHIC),
        _ => {
            return Err(
                "GeoTIFF keys are written only for projected and geographic systems, and its code is not known to be one of these: import with --crs as WKT to keep it",
            );
        }
    };
    let mut keys = vec![(KIND, kind), (key, horizontal)];
    if let Some(vertical) = vertical {
        keys.push((VERTICAL, code(vertical)?));
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::geotiff;

    #[test]
    fn a_projected_system_of_other_keys_is_not_the_geographic_one_below_it() {
        let epsg = |code: u16| Some(json!(format!("EPSG:{code}")));
        for (keys, expected) in [
            (&[(1024, 1), (2048, 4269), (3072, 32767)][..], None),
            (&[(1024, 1), (2048, 4269)], None),
            (&[(2048, 4269), (3072, 32767)], None),
            (&[(1024, 1), (2048, 4269), (3072, 26910)], epsg(26910)),
            (&[(2048, 4269), (3072, 26910)], epsg(26910)),
            (&[(1024, 2), (2048, 4326)], epsg(4326)),
            (&[(2048, 4326)], epsg(4326)),
            (&[(2048, 4326), (3072, 0)], epsg(4326)),
        ] {
            assert_eq!(geotiff(keys), expected, "{keys:?}");
        }
    }
}
