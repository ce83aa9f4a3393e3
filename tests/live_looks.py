"""Looks at a made-up engine without a network: what the live rooms make of a row of its pages."""

from poolsplit.answers.live.expect import expecter
from poolsplit.answers.live.watch import EXPORTER
from poolsplit.live.scrape import RawScrape
from poolsplit.live.session import Judging, Watch


def look(engine, time_s=0.0, server="http://a", **changes):
    """One answer of an engine."""
    given = {"metrics": engine.page(), "info": engine.server_info(), **changes}
    return RawScrape(server=server, time_s=time_s, **given)


class Looks:
    """A watch fed with pages."""

    def __init__(self, *, expect=None, **judging):
        self.watch = Watch(EXPORTER, Judging(expect=expect or expecter(None), **judging))
        self.number = -1

    def __call__(self, *engines, every_s=10.0, **changes):
        """One look at every engine; the judged samples."""
        self.number += 1
        looks = [
            look(engine, time_s=self.number * every_s, server=f"http://{name}", **changes)
            for engine, name in zip(engines, "abcdefgh", strict=False)
        ]
        return self.watch.tick(self.number, looks)


def judge(engine, *, looks=3, computed=60_000, cached=40_000, finished=20, **judging):
    """The judgement after some looks at steady traffic."""
    watched = Looks(**judging)
    for _ in range(looks - 1):
        watched(engine)
        engine.serve(computed=computed, cached=cached, finished=finished)
    return watched(engine).judged[0]


def ids(judged):
    """Ids of the findings."""
    return {finding.id for finding in judged.findings}


def finding(judged, name):
    """One finding by its id."""
    return next(found for found in judged.findings if found.id == name)
