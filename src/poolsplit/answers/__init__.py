"""One answer put together from the rooms below: what `api` hands out, a module or folder each."""
