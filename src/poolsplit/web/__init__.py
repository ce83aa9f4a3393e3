"""The page in a browser: a local server that answers it with the command line's own documents.

This is the protocol between the server and the page under `static/`. The page adds nothing to it and computes nothing.

Files
    GET /                     index.html
    GET /static/NAME          a file of `static/`, folders included
    GET /plotly.min.js        plotly's own bundle, from the installed package (global name `Plotly`)

Every answer under `/api` is JSON. A refusal has a 4xx or 5xx status and `{"error": text, "hint": text}`; `reason`,
`stage` and `figures` stand beside them where the engine would refuse the launch. With a token in the page's address
(`/?token=T`) every `/api` request carries it: as the header `X-Poolsplit-Token`, or as `?token=T` for an event stream.
Requests with a body say `Content-Type: application/json`; uploads say `application/octet-stream`.

GET /api/choices
    {"engine": {"name", "version"}, "versions": [text], "models": [as `poolsplit models --json`],
     "cards": [as `poolsplit gpus --json`], "card_architectures": [text], "strategies": [text], "orders": [text],
     "samples": [{"name", "title", "command"}], "upload_limit_bytes": int, "jobs_limit": int}

POST /api/plan
    A plan request, every field optional, numbers and sizes as the command line takes them:
    {"model", "gpu", "gpu_memory", "gpu_arch", "weights", "free_before", "free_after", "engine_version": text,
     "flags": text              engine flags as they stand on a command line: "--tp 4 --page-size 64"
     "launch": text             a whole launch command, pasted (shell, compose, pod, logged dump) instead of flags
     "workload": {"context", "input", "output", "lengths": text, "overflow": number, "concurrency": int,
                  "concurrency_median": int}        lengths: percentiles only, "p50=2k,p90=32k"
     "sessions": {"sessions": int, "session_tokens": text, "checkpoints_per_session": number, "margin": number},
     "levers": bool (true), "pair": bool (false), "compare_version": text}
    200: the document of `poolsplit plan --json`, and
     "picture": {
       "current": [rank] | null, "recommended": [rank]: one rank of each pipeline stage,
          {"stage", "layers": int, "binds": [state | kv],
          "state_bytes", "kv_bytes", "idle_bytes", "pools_bytes" (their sum): int,
          "state_fraction", "kv_fraction", "idle_fraction": of the largest `pools_bytes` of both splits, 0..1,
          "state_text", "kv_text", "idle_text", "pools_text": sizes as people read them},
       "curve": [{"state_to_kv_ratio": number, "state_slots", "kv_tokens", "state_requests", "kv_requests",
          "max_running_requests", "running_requests": int}], rising in the ratio,
       "curve_reason": text | null                 why the curve is empty,
       "balance": {"state_to_kv_ratio": number, "requests": int} | null     where both limits cross,
       "current_point", "recommended_point": {"state_to_kv_ratio": number, "requests": int} | null}
     and each lever has "launch_command": the launch with that lever and the split it is given; text | null.
     A lever is taken by a new plan request with that text as "launch" and without "flags" and "model".

POST /api/uploads?name=TEXT   the body is the file; 413 beyond the limit
    200: {"upload_id": text, "name": text, "bytes": int}
DELETE /api/uploads/ID        204; uploads also end with the server, or when more recent ones need their room

POST /api/jobs   {"kind": KIND, "arguments": {...}}   ->  200 {"job_id": text}; 429 when too many run
    A file is {"upload": upload_id} or {"sample": name}. A plan is the document that /api/plan gave, whole.
    read        {"files": [file], "flags": text, "launch": text, "gpu": text}          document: `read --json`
    trace-info  {"files": [file], "reading": {fields of `trace info`: format, block_tokens, ...}}
                                                                                       document: `trace info --json`
    replay      {"files", "reading", "split": {options of `replay` by name, "plan": plan}, "pace": {"mode", ...}}
                                      document: `replay --json` and "timeline": {column: [numbers]} of both pools
    surface     {"files", "reading", "cache": {...}, "order": {...}, "budget": {"budget", "state_bytes", "kv_bytes",
                 "plan": plan}, "confirm": bool (true), "refine": bool (true)}         document: `surface --json`
    watch       {"targets": [URL], "interval": text ("10s"), "window": text ("5m"), "plan": plan, "looks": int}
                                      partial {"document": {"looks": [objects of `watch --json`]}}, one a look
GET /api/jobs/ID/events   server-sent events, each with JSON in `data`; a new listener first gets the last of each kind
    progress {"done": int, "total": int | null, "what": text} · partial {"document"} · result {"document"}
    error {"error", "hint"} · cancelled {}         the last three end the stream
DELETE /api/jobs/ID       204; the job's process is killed. A job without a listener for a while ends by itself.
"""
