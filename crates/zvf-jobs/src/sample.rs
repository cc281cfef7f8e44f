//! The job `sample`: the value of a volume at every vertex becomes a vertex attribute.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zvf_convert::{SourceHeader, stated_affine};
use zvf_edit::ColumnEdit;
use zvf_encode::{AttributeSpec, NumberType};
use zvf_query::Query;
use zvf_store::meta::Affine;
use zvf_store::{Class, Need};
use zvf_volume::{AxisUse, Counts, Interpolation, Sampler, Volume, VolumePlacement};

use crate::error::Result;
use crate::values::pairs;
use crate::{Context, JobError, JobEvent, OutsideNumber, OutsideValue};

options! {
    /// Samples a dense volume at every vertex and stores the values as a vertex attribute
    SampleJob {
        /// Path or URL of the store
        store: String,
        /// File, folder or URL of the volume; #NAME or #@N selects one of several datasets or levels
        #[arg(long, value_name = "VOLUME")]
        volume: String,
        /// Name of the vertex attribute
        #[arg(long = "as", value_name = "NAME")]
        name: String,
        /// Map from element indices to the world: numbers by rows, a file with them, or a NIfTI or MGH image
        #[arg(long, value_name = "NUMBERS|FILE", allow_hyphen_values = true)]
        affine: Option<String>,
        /// Uses positions of a tractogram as they are stored, in any frame
        #[arg(long)]
        keep_frame: bool,
        /// How values between elements are computed [default: linear for floats, nearest for integers, which may be labels]
        #[arg(long, value_enum, value_name = "ORDER")]
        order: Option<OrderName>,
        /// Value of vertices outside of the volume [default: NaN, or 0 for integers]
        #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
        outside: Option<OutsideValue>,
        /// Index along an axis that is not in space, such as a channel or a time; the axis by its name or number
        #[arg(long, value_name = "AXIS=N", value_delimiter = ',', value_parser = crate::values::parse_index)]
        #[serde(with = "pairs")]
        #[schemars(with = "BTreeMap<String, u64>")]
        index: Vec<(String, u64)>,
        /// Replaces an attribute of that name
        #[arg(long)]
        replace: bool,
    }
}

/// How a value between elements is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum OrderName {
    /// The element of the voxel around the vertex; for labels
    Nearest,
    /// Linear between the centres of voxels
    Linear,
}

impl SampleJob {
    pub(crate) fn check(&self) -> Result<()> {
        for (member, text) in [("volume", &self.volume), ("name", &self.name)] {
            if text.is_empty() {
                return Err(JobError::option(member, "\"\"", "a text"));
            }
        }
        Ok(())
    }

    pub(crate) async fn run(&self, context: &Context) -> Result<SampleReport> {
        let of_volume = JobError::volume(&self.volume);
        let volume = Volume::open(&self.volume, &context.write.open.io).await;
        let volume = volume.map_err(&of_volume)?;
        let store = context.open(&self.store, 0, Need::nothing()).await?;
        let world = store.root().axes();
        let uses = volume.axis_uses(Some(&self.index), world.len());
        let uses = uses.map_err(&of_volume)?;
        let rank = uses.iter().filter(|one| **one == AxisUse::Space).count();
        let stated = self.affine.as_deref().map(|text| stated_affine(text, rank));
        let stated = stated.transpose().map_err(|error| match error.class() {
            Class::Misuse => JobError::Option {
                path: "affine".to_owned(),
                what: error.to_string(),
            },
            _ => error.into(),
        })?;
        let matched = VolumePlacement::new(&volume, &uses, stated.as_ref(), world);
        let matched = matched.map_err(&of_volume)?;
        for remark in matched.remarks.iter().chain(&volume.info().notes) {
            context.event(&JobEvent::Note(remark));
        }
        let of_store = |error| JobError::from(error).at(&self.store);
        let frame = match self.keep_frame {
            true => None,
            false => SourceHeader::of_store(&store).await.map_err(of_store)?,
        };
        let to_rasmm = frame.as_ref().map(SourceHeader::to_rasmm).transpose();
        let to_rasmm = to_rasmm.map_err(of_store)?.flatten();
        if to_rasmm.is_some() && (store.root().dims() != 3 || matched.picked != [0, 1, 2]) {
            return Err(JobError::usage(format!(
                "{}: found positions in voxel millimetres on other axes than x, y and z, expected these; --keep-frame takes the positions as they are stored",
                self.store
            )));
        }
        if to_rasmm.is_some() {
            context.event(&JobEvent::Note("positions are stored as voxelmm: they were converted to scanner millimetres by the affine of the header"));
        }
        let element = volume.info().element.number;
        let order = match (self.order, element.map(Interpolation::usual)) {
            (Some(OrderName::Nearest), _) => Interpolation::Nearest,
            (Some(OrderName::Linear), _) | (None, None | Some(Interpolation::Linear)) => {
                Interpolation::Linear
            }
            (None, Some(Interpolation::Nearest)) => {
                let text = element.map_or_else(String::new, |one| one.to_string());
                context.event(&JobEvent::Note(&format!(
                    "elements are {text}, which may be labels: the nearest one is taken; --order linear gives values between them"
                )));
                Interpolation::Nearest
            }
        };
        let sampler = Sampler::new(volume.clone(), uses, &matched.to_world, order);
        let mut sampler = sampler.map_err(&of_volume)?;
        if let Some(outside) = &self.outside {
            let with_outside = match *outside.value() {
                OutsideNumber::Whole(whole) => sampler.with_outside_whole(whole),
                OutsideNumber::Real(real) => sampler.with_outside(real),
            };
            sampler = with_outside.map_err(&of_volume)?;
        }
        let dtype = sampler.dtype().to_string();
        let number = NumberType::from_name(&dtype);
        let number =
            number.ok_or_else(|| JobError::usage(format!("values of {dtype} cannot be stored")))?;
        let spec = AttributeSpec::number(self.name.as_str(), number);
        let write = context.writing(false);
        context.total_of(&store, &Query::default()).await?;
        let column = ColumnEdit::open(&self.store, spec, self.replace, write).await;
        let mut column = column.map_err(JobError::write(&self.store))?;
        let places = ToWorld {
            to_rasmm,
            picked: matched.picked,
        };
        let filled = match self.fill(&mut column, &sampler, &places, context).await {
            Ok(filled) => filled,
            Err(error) => {
                // The error of the sampling is reported, not that of abandoning the edit.
                let _ = column.abandon().await;
                return Err(error);
            }
        };
        let summary = column.commit().await;
        let summary = summary.map_err(JobError::write(&self.store))?;
        let lost = filled.vertices > 0 && filled.outside == filled.vertices;
        let lost = lost.then_some("every vertex lies outside of the volume: is the affine right?");
        Ok(SampleReport {
            store: self.store.clone(),
            volume: self.volume.clone(),
            attribute: self.name.clone(),
            dtype,
            order: match order {
                Interpolation::Nearest => OrderName::Nearest,
                Interpolation::Linear => OrderName::Linear,
            },
            notes: matched.remarks,
            vertices: filled.vertices,
            outside: filled.outside,
            chunks: summary.chunks,
            put: summary.put,
            removed: summary.removed,
            read: filled.counts,
            warnings: lost.into_iter().map(str::to_owned).collect(),
        })
    }

    /// Samples the vertices of all chunks.
    async fn fill(
        &self,
        column: &mut ColumnEdit,
        sampler: &Sampler,
        to_places: &ToWorld,
        context: &Context,
    ) -> Result<SampleCounts> {
        let (mut filled, progress) = (SampleCounts::default(), context.progress());
        let of_store = || JobError::write(&self.store);
        while let Some(chunk) = column.next().await.map_err(of_store())? {
            let mut places = Vec::new();
            for row in chunk.positions.chunks_exact(chunk.dims.max(1)) {
                to_places.of(row, &mut places);
            }
            let sampled = sampler.sample(&places).await;
            let sampled = sampled.map_err(JobError::volume(&self.volume))?;
            let vertices = u64::try_from(chunk.count()).unwrap_or(u64::MAX);
            filled.vertices = filled.vertices.saturating_add(vertices);
            filled.outside = filled.outside.saturating_add(sampled.outside);
            filled.counts.add(sampled.counts);
            column.put_bytes(sampled.bytes).await.map_err(of_store())?;
            progress(vertices);
        }
        Ok(filled)
    }
}

/// Counts over the values of all chunks.
#[derive(Debug, Clone, Copy, Default)]
struct SampleCounts {
    vertices: u64,
    outside: u64,
    counts: Counts,
}

/// Converts stored positions to world coordinates of the volume.
struct ToWorld {
    to_rasmm: Option<Affine>,
    /// The axes of the store that are axes of the volume.
    picked: Vec<usize>,
}

impl ToWorld {
    fn of(&self, row: &[f64], out: &mut Vec<f64>) {
        let mut mapped = [0.0; 3];
        let row = match &self.to_rasmm {
            Some(map) if row.len() == mapped.len() => {
                map.apply(row, &mut mapped);
                &mapped
            }
            _ => row,
        };
        let axes = self.picked.iter();
        out.extend(axes.map(|&axis| row.get(axis).copied().unwrap_or(f64::NAN)));
    }
}

/// The report of `sample`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SampleReport {
    /// The store.
    pub store: String,
    /// The volume.
    pub volume: String,
    /// The vertex attribute.
    pub attribute: String,
    /// Its type.
    pub dtype: String,
    /// How values between elements were computed.
    pub order: OrderName,
    /// How axes and units were matched.
    pub notes: Vec<String>,
    /// Vertices.
    pub vertices: u64,
    /// Vertices outside of the volume.
    pub outside: u64,
    /// Chunks of the store that were written.
    pub chunks: u64,
    /// Objects of the storage that the edit replaced or added.
    pub put: u64,
    /// Objects of the storage that the edit removed.
    pub removed: u64,
    /// Counts of the reads from the volume.
    pub read: Counts,
    /// Possible mistakes in the input.
    #[serde(skip)]
    pub warnings: Vec<String>,
}
