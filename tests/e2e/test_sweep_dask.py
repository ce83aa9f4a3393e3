"""A sweep on a real Dask scheduler with two worker processes, one of them killed in the middle."""

import os
import signal
import threading
import time

import pytest

pytest.importorskip("distributed")

SETS = ("trace=synth:rag:requests=40", "kv_tokens=20k,30k,40k,60k,80k,120k", "state_slots=10,20,40", "seed=1,2")


@pytest.mark.filterwarnings("ignore")
def test_a_lost_worker_changes_nothing(tmp_path):
    from distributed import LocalCluster

    from poolsplit import api

    api.sweep(None, SETS, str(tmp_path / "here"))
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster:
        pids = [worker.pid for worker in cluster.workers.values()]
        assert len(set(pids)) == 2
        killed = threading.Event()

        def kill(done, _total):
            if done >= 3 and not killed.is_set():
                killed.set()
                os.kill(pids[0], signal.SIGKILL)

        found = api.sweep(None, SETS, str(tmp_path / "dask"), dask=cluster.scheduler_address, progress=kill)
        time.sleep(0.1)
    assert killed.is_set()
    assert found["replayed"] == 36
    here, there = ((tmp_path / name / "results.jsonl").read_bytes() for name in ("here", "dask"))
    assert here == there
