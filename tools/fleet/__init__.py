"""Many machines: runs carried out on the hosts of a Dask cluster; the only folder that knows Dask."""
