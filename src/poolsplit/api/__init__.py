"""What poolsplit answers, as functions: the rooms below joined, for the command line and for other programs.

One module a subject; each function imports what it needs when it is called.
"""

from poolsplit.api.facts import engine, explain, form_choices, gpus, model, models
from poolsplit.api.launches import asked_launch, launch_request, launch_values, near_engine_flag, split_engine_flags
from poolsplit.api.logs import check_log, diff, read_log, read_mismatch
from poolsplit.api.plans import dashboard_files, plan, planned_split
from poolsplit.api.replays import (
    cache_levers,
    prepare_replay,
    price_levers,
    replay_batch,
    replay_request,
    replay_trace,
    timeline_columns,
    timeline_csv,
)
from poolsplit.api.resolutions import answer_record, launcher_refusal, resolve, resolve_batch, resolve_under
from poolsplit.api.servers import check, server_connection, watch, watch_documents, watch_mismatch
from poolsplit.api.surfaces import surface, surface_request, sweep
from poolsplit.api.traces import (
    make_trace,
    read_trace,
    record_trace,
    sample_trace,
    trace_document,
    trace_parameters,
    trace_writer,
)

__all__ = [
    "answer_record",
    "asked_launch",
    "cache_levers",
    "check",
    "check_log",
    "dashboard_files",
    "diff",
    "engine",
    "explain",
    "form_choices",
    "gpus",
    "launch_request",
    "launch_values",
    "launcher_refusal",
    "make_trace",
    "model",
    "models",
    "near_engine_flag",
    "plan",
    "planned_split",
    "prepare_replay",
    "price_levers",
    "read_log",
    "read_mismatch",
    "read_trace",
    "record_trace",
    "replay_batch",
    "replay_request",
    "replay_trace",
    "resolve",
    "resolve_batch",
    "resolve_under",
    "sample_trace",
    "server_connection",
    "split_engine_flags",
    "surface",
    "surface_request",
    "sweep",
    "timeline_columns",
    "timeline_csv",
    "trace_document",
    "trace_parameters",
    "trace_writer",
    "watch",
    "watch_documents",
    "watch_mismatch",
]
