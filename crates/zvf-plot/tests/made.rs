//! Small stores that are made for a test, and pictures of them.

use anyhow::Result;
use zvf_plot::{Drawing, Layer, Picture, PlotError, PlotOptions, Rgb, plot};
use zvf_store::Store;
use zvf_store::blocking::Runtime;
use zvf_write::{Batch, Kind, ObjectTable, StoreSpec, StoreWriter, WriteOptions};

/// A store in a folder that is removed when it is dropped.
pub(crate) struct Made {
    _folder: tempfile::TempDir,
    address: String,
    runtime: Runtime,
}

impl Made {
    /// A store of one batch.
    pub(crate) fn new(spec: StoreSpec, batch: &Batch) -> Result<Self> {
        Self::with_objects(spec, batch, None)
    }

    /// A store of one batch, and the attributes of its objects.
    pub(crate) fn with_objects(
        spec: StoreSpec,
        batch: &Batch,
        objects: Option<&ObjectTable>,
    ) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let address = folder.path().join("made.zarrvectors");
        let address = address.to_string_lossy().into_owned();
        let runtime = Runtime::new()?;
        runtime.wait(async {
            let mut writer = StoreWriter::create(&address, spec, WriteOptions::new()).await?;
            writer.push(batch)?;
            if let Some(objects) = objects {
                writer.push_objects(objects)?;
            }
            writer.finish().await
        })?;
        Ok(Self {
            _folder: folder,
            address,
            runtime,
        })
    }

    /// Points.
    pub(crate) fn points(positions: &[[f32; 3]]) -> Result<Self> {
        let spec = StoreSpec::new(Kind::PointCloud, [10.0; 3]);
        Self::new(spec, &Batch::new(positions.as_flattened()))
    }

    /// Faces of three corners.
    pub(crate) fn mesh(positions: &[[f32; 3]], faces: &[u64]) -> Result<Self> {
        let spec = StoreSpec::new(Kind::Mesh, [40.0; 3]);
        Self::new(
            spec,
            &Batch::new(positions.as_flattened()).with_links(faces),
        )
    }

    /// Streamlines with these numbers of vertices, and ids from 1.
    pub(crate) fn lines(positions: &[[f32; 3]], lengths: &[usize]) -> Result<Self> {
        let runs: Vec<(i64, usize)> = (1..).zip(lengths.iter().copied()).collect();
        let spec = StoreSpec::new(Kind::Streamline, [25.0; 3]);
        let batch = Batch::new(positions.as_flattened()).with_object_runs(runs);
        Self::new(spec, &batch)
    }

    /// The store as a layer.
    pub(crate) fn layer(&self) -> Result<Layer> {
        let store = self.runtime.wait(Store::open(&self.address))?;
        Ok(Layer::new(store, "made"))
    }

    /// A picture of layers.
    pub(crate) fn plot(
        &self,
        layers: &[Layer],
        options: &PlotOptions,
    ) -> Result<Drawing<Picture>, PlotError> {
        self.runtime.wait(plot(layers, options))
    }

    /// Waits for another future.
    pub(crate) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.runtime.wait(future)
    }
}

/// Options for a transparent picture of the data alone: one unit per pixel, the origin in the middle.
pub(crate) fn plain(width: u32, height: u32) -> PlotOptions {
    PlotOptions {
        size: [width, height],
        background: None,
        look_at: Some(([0.0; 3], 1.0)),
        decorated: false,
        fading: 0.0,
        ..PlotOptions::default()
    }
}

/// The colour and opacity of a pixel.
pub(crate) fn pixel(picture: &Picture, x: usize, y: usize) -> (Rgb, u8) {
    let at = (y * picture.width() as usize + x) * 4;
    let pixel = &picture.rgba()[at..at + 4];
    (Rgb(pixel[0], pixel[1], pixel[2]), pixel[3])
}

/// Opacity of every pixel, from 0 to 1.
pub(crate) fn coverage(picture: &Picture) -> Vec<f64> {
    let pixels = picture.rgba().chunks_exact(4);
    pixels.map(|pixel| f64::from(pixel[3]) / 255.0).collect()
}

/// Pseudo-random numbers from 0 to 1, the same every time.
pub(crate) fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1_u64 << 24) as f64
    }
}
