"""Shapes that another engine serves: read and priced as models, refused as launches."""

import pytest

from poolsplit.engines.device import Device
from poolsplit.engines.sglang.flags import Flags
from poolsplit.engines.sglang.rules import resolve_flags
from poolsplit.engines.sglang.versions import VERSIONS, switches_for
from poolsplit.errors import LaunchRefusedError
from poolsplit.hub import find_model

H200 = Device(name="h200", memory_mib=143_771, compute_capability=(9, 0))
NOT_SERVED = (
    "ai21labs/Jamba-v0.1",
    "Zyphra/Zamba2-7B",
    "allenai/Olmo-Hybrid-7B",
    "pfnet/plamo-2-1b",
    "MiniMaxAI/MiniMax-M1",
    "MiniMaxAI/MiniMax-Text-01",
    "inclusionAI/Ring-mini-linear-2.0",
)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", NOT_SERVED)
def test_no_release_serves_it(name, version):
    shape = find_model(name).shape
    assert shape.state is not None
    with pytest.raises(LaunchRefusedError) as caught:
        resolve_flags(shape, Flags(), H200, switches_for(version), None)
    assert (caught.value.reason, caught.value.stage) == ("model_not_in_release", "server_args")
    assert shape.architecture in caught.value.message
