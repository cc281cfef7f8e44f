"""Folders as cloud-volume opens segmentations, for the checks of browsers, imports and peers."""

from cloudvolume import CloudVolume


def segmentation(address, *, resolution=(1, 1, 1), size=(1, 1, 1), mesh="mesh", **terms):
    """A volume without images, for its meshes and skeletons; not written."""
    info = CloudVolume.create_new_info(
        num_channels=1,
        layer_type="segmentation",
        data_type="uint64",
        encoding="raw",
        resolution=list(resolution),
        voxel_offset=[0, 0, 0],
        volume_size=list(size),
        chunk_size=[512] * 3,
        mesh=mesh,
        skeletons="skeletons",
    )
    return CloudVolume(address, info=info, progress=False, cache=False, **terms)
