//! Random damage: there is a report, whatever is done to a store.

use std::error::Error;
use std::fmt::Write;

use zvf_store::Limits;

use crate::support::checked;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed % end.max(1) as u64) as usize
    }
}

/// Does one thing to one object. Returns what.
fn damage(files: &mut std::collections::BTreeMap<String, Vec<u8>>, random: &mut Random) -> String {
    let keys: Vec<String> = files.keys().cloned().collect();
    let (one, other) = (
        &keys[random.below(keys.len())],
        &keys[random.below(keys.len())],
    );
    let bytes = files.get_mut(one).map(std::mem::take).unwrap_or_default();
    let at = random.below(bytes.len());
    let mut what = format!("{one} at {at}: ");
    let mut bytes = bytes;
    match random.below(6) {
        0 => {
            what.push_str("cut");
            bytes.truncate(at);
        }
        1 => {
            let bit = random.below(8);
            let _ = write!(what, "bit {bit} turned");
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << bit;
            }
        }
        2 => {
            let _ = write!(what, "replaced by {other}");
            bytes = files
                .get(other)
                .filter(|_| other != one)
                .cloned()
                .unwrap_or_default();
        }
        3 => {
            what.push_str("gone");
            files.remove(one);
            return what;
        }
        4 => {
            what.push_str("eight bytes of ones");
            for byte in bytes.iter_mut().skip(at).take(8) {
                *byte = 0xff;
            }
        }
        _ => {
            // In documents: a number becomes a huge one.
            what.push_str("a digit becomes many");
            if let Some(digit) = bytes.iter().skip(at).position(u8::is_ascii_digit) {
                bytes.splice(at + digit..=at + digit, *b"99999999999");
            }
        }
    }
    files.insert(one.clone(), bytes);
    what
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_ends_in_a_report() -> Result<(), Box<dyn Error>> {
    let mut random = Random(11);
    let cases = zvf_testkit::all_cases()?;
    let mut limits = Limits::default();
    limits.cell_bytes = 1 << 26;
    limits.document_bytes = 1 << 26;
    let mut found = 0;
    for round in 0..120 {
        let case = &cases[random.below(cases.len())];
        let mut files = zvf_testkit::files(case)?;
        let what = damage(&mut files, &mut random);
        let report = checked(&files, limits.clone()).await;
        let report = report.map_err(|error| format!("{round}: {case}, {what}: {error}"))?;
        found += usize::from(!report.findings.is_empty());
    }
    // Most damage breaks a rule; some of it changes only what nobody can judge, such as the value of an attribute.
    assert!(found > 60, "{found} of 120");
    Ok(())
}
