"""A change that the rules refuse is no advice."""

from poolsplit.answers.logs import prices
from poolsplit.engines.boot_report import Finding, Price
from poolsplit.errors import LaunchRefusedError


class Deployment:
    """Solves as it stands; refuses every change."""

    def solve(self, changes):
        if changes:
            raise LaunchRefusedError("nothing is left", stage="solver", reason="kv_pool_empty")
        return self

    pools = None


def test_a_refused_change_is_taken_back_with_the_reason():
    price = Price(delta_requests=1, delta_kv_tokens=-1, source="pools")
    flags = ("--max-mamba-cache-size 9", "--mem-fraction-static (higher)")
    finding = Finding(id="x", severity="warning", text="few run", flags=flags, price=price)
    priced = prices._priced(finding, Deployment())
    assert (priced.flags, priced.price) == (flags[1:], None)
    assert priced.text == "few run; with `--max-mamba-cache-size 9` it would not start: nothing is left"
