//! `zvf query` and `zvf get`: selections and what is written of them.

use clap::Args;
use zvf_jobs::{QueryJob, RegionOptions, ResultOptions};

use super::JobArgs;

/// `zvf query`
#[derive(Debug, Args)]
#[command(after_help = "\
Selections combine with AND. Without -o and --format a summary is printed.

OUT with an ending is a file, which replaces one of that name: .arrow, .csv, .ndjson or .npy get the vertex table (npy: positions
only), all other endings are formats of `zvf export` (.swc .parquet .obj .ply .trk ..), written as that does; with --columns, .parquet is a
vertex table, too. OUT without an ending,
or with a slash at its end, is a directory with vertices.arrow, links.arrow when the geometry has links, objects.arrow when there is an
object index, and groups.arrow with the groups of these objects; `zvf append` takes it back. OUT may be a URL of any backend that stores
may have. Of a store with objects every table of vertices has a column object_id, unless --columns names others.
CSV has one column an axis and a channel (name_0, name_1, ..); absent values are empty. NDJSON has null for absent values and
the strings \"NaN\", \"Infinity\", \"-Infinity\" for what JSON lacks.

EXPR is made of
  name > 0.5          also < <= >= == (=) != (<>), with a number (inf, -inf), a 'text', true or false
  name in (1, 2)      not in (1, 2)
  name between 1 and 2, not between 1 and 2; both ends included
  name is nan         is not nan: floats; a float that an imported file lacks is NaN
  name is null        is not null: missing texts and other values; NaN is not null
  name like 'AF%'     not like; % is any text, _ any character
joined with and, or, not and parentheses. A name is an attribute or an axis, a value also a sum or product (+ - * / %, with blanks around /)
or abs(v), sqrt(v), min(v, ..), max(v, ..); dates are compared with texts such as '2024-05-31'. Of objects are object_id, object.NAME,
count(), length(), start.x and end.x: a condition that refers to them selects objects, and each vertex is tested with its object. Of groups are
group.name, group.number and group.NAME (an attribute): a part about groups alone is true for the members of a group that satisfies it; parts
about groups that are joined by and hold for the same group. name[1] is a channel of several; other names stand in backquotes or double quotes. A comparison with a missing value
is not true, nor is `not` of it.

REGION is made of
  sphere(1,2,3,4)         at most 4 from the point (1, 2, 3): a number for each axis, then the radius
  near(x=0,1)             at most 1 from the plane x = 0
  box(x=0:10,z=5:)        between the ends of these axes; an end that is left out is infinite
  polygon(WKT, x, z)      the prism over POLYGON or MULTIPOLYGON of well-known text in the plane of two axes, x and y unless stated; a range of another
                          axis may follow: z=0:10; @FILE in place of WKT is a file of well-known text or GeoJSON
  mesh(@FILE)             inside of the closed mesh of an .obj, .ply or .stl file
  hull(@FILE)             the convex hull of the vertices of such a file
  mask(@VOLUME, 12, 17)   the voxels of a volume with these labels, or with any value but 0; the voxel whose centre is nearest to a vertex counts
joined with and, or, not and parentheses; boundaries are inside. Names of files that hold one of the signs = , ( ) : ; stand in backquotes. --sphere, --near,
--polygon, --mesh and --mask are short forms of these; all flags combine with AND. --mask reads the same volumes as `zvf sample` and places them the same way.
--touching, --inside, --starting and --ending select whole objects by their vertices: one, all, the first, or the last one inside.
--passing selects objects by several regions; different vertices may meet different ones: touching(REGION), inside(REGION), starting(REGION) and ending(REGION),
joined with and, or, not and parentheses; a shape alone means touching. With a box or a region, too, the result has the rows there of the objects selected.

Examples:
  zvf query brain.zarrvectors --bbox 0,0,0:10,10,10
  zvf query brain.zarrvectors --bbox x=0:10,z=5:
  zvf query brain.zarrvectors --bbox -10,-10,-inf:5,5,inf --where 'intensity > 0.5 and label == 3' -o box.csv
  zvf query tracts.zarrvectors --bbox 60,80,60:80,90,70 --select objects -o bundle
  zvf query tracts.zarrvectors --sphere 92,82,80,10 --ending -o ending
  zvf query tracts.zarrvectors --mesh thalamus.stl --touching -o thalamus
  zvf query tracts.zarrvectors --mask aparc.nii.gz --labels 1022,1024 --ending -o precentral
  zvf query tracts.zarrvectors --passing 'mask(@aparc.nii.gz, 1022) and mask(@aparc.nii.gz, 2022) and not mask(@ventricles.nii.gz)' -o callosal
  zvf query points.zarrvectors --polygon area.geojson --near z=5,1 -o part.parquet
  zvf query tracts.zarrvectors --region 'sphere(92,82,80,10) and not near(x=90,1)' --touching -o bundle
  zvf query tracts.zarrvectors --where 'length() > 40 and start.x < 0 and fa > 0.3' -o long.csv
  zvf query tracts.zarrvectors --where 'fa > 0.3 or x < start.x' -o either.csv
  zvf query tracts.zarrvectors --where \"group.name like 'AF%' and length() > 40\" -o arcuate
  zvf query brain.zarrvectors --objects @ids.txt --columns position,object_id --format ndjson
  zvf query brain.zarrvectors --groups AF_left,2 --level 1 --limit 1000 --json
  zvf query s3://bucket/tracts.zarrvectors --bbox 60,80,60:80,90,70 --explain")]
pub(crate) struct QueryArgs {
    /// The options.
    #[command(flatten)]
    of_job: JobArgs<QueryJob>,
    /// Shows what the query would read: chunks, cells of each array, steps of requests; only documents are read
    #[arg(long, conflicts_with_all = ["output", "format", "print_job"])]
    pub(crate) explain: bool,
}

impl QueryArgs {
    /// The job, and whether it is printed only.
    pub(crate) fn job(&self) -> (QueryJob, bool) {
        (self.of_job.job.clone(), self.of_job.print_job)
    }
}

/// The text after the options in the help of `zvf splits`.
pub(super) const SPLITS: &str = "\
Every vertex of the answer is in exactly one piece. Without objects, groups and --select objects the pieces are cut by chunk and have the
vertex table alone; whole objects are cut by id, with their vertices and, of lines, polylines, streamlines and skeletons, their links.
Rows and bytes are estimates from the documents. With --json each piece is an object that the library runs elsewhere
(zvf_query::Split); it holds the tags of the documents, and a store that changed since is an error.

Examples:
  zvf splits brain.zarrvectors --count 16
  zvf splits tracts.zarrvectors --near x=90,5 --inside --count 4
  zvf splits tracts.zarrvectors --select objects --bytes 268435456 --json
  zvf query brain.zarrvectors --split 3/16 -o part-3.arrow";

/// `zvf get`
#[derive(Debug, Args)]
#[command(after_help = "\
An id that the store does not have is an error unless --ignore-missing is given, also one of a range. -5 is an id, 0-9 a range; a list that
begins with a range such as -9--5 follows --.

Examples:
  zvf get brain.zarrvectors 7
  zvf get neurons.zarrvectors 1734350788 -o neuron.swc
  zvf get brain.zarrvectors -4 7 4611686018427387904 -o neurons
  zvf get brain.zarrvectors 0-1000000000000 --ignore-missing --limit 1000
  zvf get tracts.zarrvectors 1-100 --sphere 92,82,80,10 --starting
  zvf get tracts.zarrvectors @ids.txt --level 1 --attributes none --format csv")]
pub(crate) struct GetArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// Object ids, ranges such as 1-5, or @FILE with those between blanks, commas or lines
    #[arg(required = true, value_name = "ID", allow_negative_numbers = true)]
    pub(crate) ids: Vec<String>,
    /// Ids that the store does not have are left out instead of being an error
    #[arg(long)]
    pub(crate) ignore_missing: bool,
    /// Restricts the objects to their vertices in a part of space, or to those that touch it, are inside, start or end there
    #[command(flatten)]
    pub(crate) region: RegionOptions,
    /// What is written and how
    #[command(flatten)]
    pub(crate) result: ResultOptions,
    /// Prints the job as JSON for `zvf run`, and runs nothing. Common options are no part of it: give them to `zvf run`
    #[arg(long)]
    pub(crate) print_job: bool,
}

impl GetArgs {
    /// The query that it is, and whether it is printed only.
    pub(crate) fn job(&self) -> (QueryJob, bool) {
        let mut job = QueryJob::default();
        job.store.clone_from(&self.store);
        job.terms.set_objects(&self.ids);
        job.terms.ignore_missing = self.ignore_missing;
        job.terms.place = self.region.clone();
        job.result = self.result.clone();
        (job, self.print_job)
    }
}
