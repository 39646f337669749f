from dataclasses import replace

import pytest

from cli_samples import run_main
from dance_samples import digest
from dancematch.catalogue.records import Dance, NewRecording, Recording
from dancematch.motion import mirror
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.pipeline.lineage import count_windows, order_dates
from dancematch.report.lineage_text import rarity_rows, summarise_lineage
from dancematch.search.rarity import FEWEST_OTHERS, name_rarity
from dancematch.synthetic.dance.choreography import Dancer, compose_dance, perform

OLD, YOUNG = (compose_dance(seed, eight_counts=4) for seed in (1, 3))


def learn(catalogue, name, choreography, dancer=None, date=None, mirrored=False):
    motion = perform(choreography, Dancer() if dancer is None else Dancer.random(dancer))
    motion = mirror(motion) if mirrored else motion
    recording = Recording(digest(name), f"{name}.npz", motion.seconds, date=date)
    catalogue.learn(NewRecording(Dance(name), recording), [motion])


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    """Two dances, three that hold the first half of the old one, one of them mirrored; one by itself."""
    path = tmp_path_factory.mktemp("lineage") / "dances.db"
    with open_catalogue(path) as catalogue:
        learn(catalogue, "old", OLD, date="1983-12")
        learn(catalogue, "young", YOUNG, date="2020")
        for number, (date, mirrored) in enumerate((("2001", False), (None, False), ("1983", True))):
            other = compose_dance(40 + number).moves[:4]
            mixed = replace(OLD, moves=OLD.moves[:4] + other)
            learn(catalogue, f"mixed-{number}", mixed, 5 + number, date, mirrored)
        learn(catalogue, "alone", compose_dance(60, eight_counts=2))
    return path


@pytest.fixture(scope="module")
def old(db):
    with open_catalogue(db, create=False) as catalogue:
        return catalogue.lineage("old")


def test_dances_that_hold_a_passage_are_found_with_their_order(old):
    found = {node.name: (node.date, node.order) for node in old.nodes}

    assert ("1983-12", None) == found.pop("old")
    assert {
        "mixed-0": ("2001", "later"),
        "mixed-1": (None, "undated"),
        "mixed-2": ("1983", "same time"),
    } == found
    assert ["old", "mixed-2", "mixed-0", "mixed-1"] == [node.name for node in old.nodes]


def test_an_edge_says_where_in_both_how_sure_and_whether_mirrored(old):
    best = {edge.name: edge for edge in sorted(old.edges, key=lambda edge: -edge.log_ratio)[::-1]}
    plain, turned = best["mixed-0"], best["mixed-2"]

    assert (False, True) == (plain.mirrored, turned.mirrored)
    assert (0.0, 0.0) == pytest.approx((plain.own.start, plain.other.start), abs=0.5)
    assert 8.7 == pytest.approx(plain.own.end, abs=1.0)  # half of the dance
    assert "match" == plain.verdict
    assert plain.counts.startswith("bar")


def test_what_many_dances_hold_is_common_and_of_the_rest_too_few_dances_say_nothing(old):
    first, *_, last = old.passages

    assert (("mixed-0", "mixed-1", "mixed-2"), "common", 5) == (first.names, first.rarity, first.others)
    assert ((), "not known", 0) == (last.names, last.rarity, last.dances)
    assert "not known: only 5 other dances to compare with" == list(rarity_rows(old))[-1][1]
    assert (0.0, 17.4) == pytest.approx((first.span.start, last.span.end), abs=0.3)


def test_the_command_tells_draws_and_ends_with_3_where_nothing_is_shared(db, tmp_path):
    told = run_main("lineage", db, "old", "--plot", tmp_path / "lineage.svg")
    (described,) = run_main("lineage", db, "old", "--json").objects
    nothing = run_main("lineage", db, "alone")

    assert told.out.startswith("3 of 5 other dances share passages with old: 1 recorded later")
    assert "common property, in 3 of 5 others" in told.out
    assert {"nodes", "edges", "passages", "searches"} <= set(described)
    assert "mixed-2" in (tmp_path / "lineage.svg").read_text(encoding="utf-8")
    assert (3, "None of 5 other dances shares a passage with alone.") == (
        nothing.code,
        nothing.out.splitlines()[0],
    )


def test_a_dance_that_is_alone_in_its_catalogue_shares_nothing(tmp_path):
    with open_catalogue(tmp_path / "one.db") as catalogue:
        learn(catalogue, "only", compose_dance(2, eight_counts=1))
        found = catalogue.lineage("only")

    assert ["only"] == [node.name for node in found.nodes]
    assert "only is the only dance of its catalogue" in summarise_lineage(found)
    assert 0 == found.passages[0].others


def test_unknown_dances_are_refused_in_a_sentence(db):
    refused = run_main("lineage", db, "no such dance")

    assert 1 == refused.code
    assert "no such dance" in refused.err


@pytest.mark.parametrize(
    ("other", "own", "order"),
    [
        ("1983", "1984-05", "earlier"), ("1984-05-02", "1984-05", "same time"),
        ("1984-06", "1984-05-30", "later"), (None, "1984", "undated"), ("1984", None, "undated"),
    ],
)  # fmt: skip
def test_dates_are_compared_as_far_as_they_are_known(other, own, order):
    assert order == order_dates(other, own)


def test_a_passage_is_rare_only_among_thirty_dances_and_more():
    """Of thirty none: at most a tenth of all dances hold it, with 95 % confidence."""
    assert 0.95 == pytest.approx(1 - 0.9**FEWEST_OTHERS, abs=0.01)
    assert ["not known", "not known", "rare"] == [name_rarity(0, others) for others in (0, 29, 30)]
    assert ["shared", "shared", "common"] == [name_rarity(dances, 3) for dances in (1, 2, 3)]


def test_the_number_of_searches():
    assert [1, 1, 2, 5, 12] == [count_windows(seconds) for seconds in (1.0, 6.0, 8.0, 14.0, 30.0)]
