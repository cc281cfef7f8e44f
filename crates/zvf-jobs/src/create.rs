//! The job `create`: a store without any vertex.

use serde::Serialize;
use zvf_encode::{AttributeSpec, Axis, StoreSpec};
use zvf_write::StoreWriter;

use crate::checks::sizes;
use crate::error::Result;
use crate::{
    AttributeText, CodecChoice, Context, Corners, JobError, KindName, NewVersion, NumberName,
    ShardChoice,
};

options! {
    /// Makes a new store without any vertex
    CreateJob {
        /// Path or URL of the new store; it must not exist
        store: String,
        /// The geometry: point_cloud, line, polyline, streamline, graph, skeleton or mesh
        #[arg(long, value_name = "KIND", required = true)]
        kind: Option<KindName>,
        /// Size of a chunk on each axis
        #[arg(long, value_name = "X,Y,..", value_delimiter = ',', value_parser = crate::parse_size, required = true)]
        chunk_shape: Vec<f64>,
        /// Lowest and highest corner that vertices may have, both ends included; components in axis order
        #[arg(long, value_name = "LO:HI", allow_hyphen_values = true, required = true)]
        bounds: Option<Corners>,
        /// Size of a bin on each axis; the size of a chunk must be a multiple of it
        #[arg(long, value_name = "X,Y,..", value_delimiter = ',', value_parser = crate::parse_size)]
        bin_shape: Option<Vec<f64>>,
        /// Names of the axes; t, time and frame are of type time [default: x,y,z,w, as many as the chunk has]
        #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
        axes: Option<Vec<String>>,
        /// Unit of all axes of space, e.g. micrometer, um, nm; t=second sets the unit of one axis
        #[arg(long, value_name = "UNIT,..")]
        unit: Option<String>,
        /// Number type of positions
        #[arg(long, value_name = "DTYPE", default_value = "float32")]
        dtype: NumberName,
        /// Points: each may belong to an object (all other kinds have objects anyway)
        #[arg(long)]
        with_objects: bool,
        /// An attribute of vertices; may be given several times
        #[arg(long = "attribute", value_name = "NAME:TYPE[:CHANNELS]")]
        attributes: Vec<AttributeText>,
        /// An attribute of objects; may be given several times
        #[arg(long = "object-attribute", value_name = "NAME:TYPE[:CHANNELS]")]
        object_attributes: Vec<AttributeText>,
        /// Ends of a link: 3 for triangles, 4 for quads
        #[arg(long, value_name = "N")]
        link_width: Option<usize>,
        /// How chunks are compressed: auto (a codec is chosen for each array from its data), none, zstd, zstd:LEVEL, gzip, gzip:LEVEL, blosc (LZ4
        /// over shuffled bytes: faster to read and write), or a list of Zarr codecs in JSON
        #[arg(long, value_name = "CODEC", default_value = "auto")]
        codec: CodecChoice,
        /// Chunks of a shard along each axis; none: every chunk is a file of its own [default: none]
        #[arg(long, value_name = "X,Y,..|none")]
        shard_shape: Option<ShardChoice>,
        /// Version of the format
        #[arg(id = "target", long, value_enum, value_name = "VERSION", default_value = "0.9.2")]
        version: NewVersion,
        /// Removes what an interrupted command left at STORE; a finished store is never touched
        #[arg(long)]
        clear_leftovers: bool,
    }
}

impl CreateJob {
    pub(crate) fn check(&self) -> Result<()> {
        sizes("chunk_shape", Some(&self.chunk_shape))?;
        sizes("bin_shape", self.bin_shape.as_deref())?;
        self.spec().map(|_| ())
    }

    fn spec(&self) -> Result<StoreSpec> {
        let (Some(kind), Some(bounds)) = (&self.kind, &self.bounds) else {
            let member = if self.kind.is_none() {
                "kind"
            } else {
                "bounds"
            };
            return Err(JobError::option(member, "null", "a text"));
        };
        let mut spec = StoreSpec::new(*kind.value(), self.chunk_shape.clone());
        if let Some(names) = &self.axes {
            spec = spec.with_axes(names.iter().map(Axis::named).collect());
        }
        if let Some(unit) = &self.unit {
            let factors = zvf_convert::set_units(&mut spec.axes, unit)?;
            if factors.iter().any(|factor| *factor != 1.0) {
                let expected = "a unit without a number: there are no positions to multiply";
                return Err(JobError::option("unit", format!("{unit:?}"), expected));
            }
        }
        zvf_convert::check_axes(&spec.axes)?;
        let corners = bounds.value();
        spec.bounds = Some((corners.lo().to_vec(), corners.hi().to_vec()));
        spec.positions = *self.dtype.value();
        spec.bin_shape.clone_from(&self.bin_shape);
        if let Some(shards) = &self.shard_shape {
            spec.shard_shape = shards.value().clone();
        }
        spec.objects |= self.with_objects;
        if let Some(width) = self.link_width {
            spec = spec.with_link_width(width);
        }
        for one in &self.attributes {
            spec = spec.with_vertex_attribute(one.value().clone());
        }
        for one in &self.object_attributes {
            spec = spec.with_object_attribute(one.value().clone());
        }
        spec.compression = self.codec.value().clone();
        spec.target = self.version.into();
        Ok(spec)
    }

    pub(crate) async fn run(&self, context: &Context) -> Result<CreateReport> {
        let (spec, write) = (self.spec()?, context.writing(self.clear_leftovers));
        let failed = || JobError::write(&self.store);
        let writer = StoreWriter::create(&self.store, spec.clone(), write).await;
        let done = writer.map_err(failed())?.finish().await;
        done.map_err(failed())?;
        let names = |list: &[AttributeSpec]| list.iter().map(|one| one.name.clone()).collect();
        Ok(CreateReport {
            store: self.store.clone(),
            version: spec.target.version(),
            kind: spec.kind.name(),
            axes: spec.axes.iter().map(|axis| axis.name.clone()).collect(),
            vertex_attributes: names(&spec.vertex_attributes),
            object_attributes: names(&spec.object_attributes),
            bounds: spec.bounds.map(|(low, high)| [low, high]),
            position_type: spec.positions.to_string(),
            chunk_shape: spec.chunk_shape,
            bin_shape: spec.bin_shape,
        })
    }
}

/// The store that `create` made.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CreateReport {
    /// The store.
    pub store: String,
    /// The version of the format.
    pub version: &'static str,
    /// The geometry.
    pub kind: &'static str,
    /// The names of the axes.
    pub axes: Vec<String>,
    /// Lowest and highest corner of vertices.
    pub bounds: Option<[Vec<f64>; 2]>,
    /// The number type of positions.
    pub position_type: String,
    /// Size of a chunk on each axis.
    pub chunk_shape: Vec<f64>,
    /// Size of a bin on each axis, if there are bins.
    pub bin_shape: Option<Vec<f64>>,
    /// Names of the attributes of vertices.
    pub vertex_attributes: Vec<String>,
    /// Names of the attributes of objects.
    pub object_attributes: Vec<String>,
}
