//! NIfTI and MGH files.

use std::io::Write;

use zvf_store::IoOptions;
use zvf_store::blocking::Runtime;
use zvf_volume::{Axis, Selection, Volume};

/// Most bytes of a result that is read.
const MOST: u64 = 1 << 16;

/// Opens a file as an image, reads all elements, and every second one of the first axis.
///
/// # Panics
///
/// When the strided read differs from the same elements of the whole image, or no temporary file can be created.
pub fn image_file(data: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(data).expect("a temporary file is written");
    let address = file.path().to_string_lossy().into_owned();
    Runtime::new().expect("a runtime").wait(async {
        let Ok(volume) = Volume::open(&address, &IoOptions::new()).await else {
            return;
        };
        let info = volume.info();
        let item = info.element.size;
        let shape = info.shape;
        if shape
            .count()
            .is_none_or(|count| count > MOST / item.max(1) as u64)
        {
            return;
        }
        let all = Selection::all(&shape).expect("its own shape");
        let Ok((whole, _)) = volume.read(&all).await else {
            return;
        };
        let mut axes: Vec<Axis> = shape
            .iter()
            .map(|extent| Axis::new(0, *extent, 1))
            .collect();
        axes[0] = Axis::new(0, shape[0], 2);
        let half = Selection::new(&axes, &shape).expect("inside");
        let (part, _) = volume.read(&half).await.expect("the whole was read");
        let slab = whole.len() / shape[0] as usize;
        let expected: Vec<u8> = whole.chunks(slab).step_by(2).flatten().copied().collect();
        assert_eq!(part, expected);
    });
}
