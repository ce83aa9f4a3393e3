"""What the page's forms offer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from poolsplit import api
from poolsplit.report.model_document import gpus_document, models_document
from poolsplit.web.job_words import Order
from poolsplit.web.jobs import MOST_JOBS

if TYPE_CHECKING:
    from poolsplit.web.uploads import Uploads


def choices(uploads: Uploads) -> dict[str, Any]:
    """Models, cards, releases, samples and limits."""
    return {
        "engine": api.engine(),
        "models": models_document(api.models())["models"],
        "cards": gpus_document(api.gpus())["gpus"],
        "orders": list(get_args(Order)),
        **api.form_choices(),
        "upload_limit_bytes": uploads.limit_bytes,
        "jobs_limit": MOST_JOBS,
    }
