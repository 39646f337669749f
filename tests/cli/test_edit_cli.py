"""dancematch edit: what is said of dances and recordings is corrected, or nothing at all."""

import csv
from pathlib import Path

import pytest

from cli_samples import run_main
from dance_samples import digest, random_words
from dancematch.catalogue.details import read_etags
from dancematch.catalogue.records import Dance, NewRecording, Recording, StoredTrack
from dancematch.catalogue.store import Store
from dancematch.pipeline.tables import dances_to_csv, recordings_to_csv
from toy_catalogue import Said, make_catalogue, read_said


@pytest.fixture
def db(tmp_path) -> Path:
    return make_catalogue(tmp_path / "dances.db")


def write_table(path: Path, said: Said, *, recordings: bool = False, **changes: dict[str, str]) -> Path:
    """Write what `list --csv` does, corrected: by a dance's name or a file's stem, new values by column."""
    lines = recordings_to_csv(said.recordings) if recordings else dances_to_csv(said.dances)
    rows = list(csv.DictReader(lines))
    key = "file" if recordings else "name"
    for row in rows:
        row.update(changes.get(row[key].partition(".")[0], {}))
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return path


def test_a_dance_is_renamed_and_described(db):
    """Each change is a sentence, and how to take them back is said."""
    line = [
        "--name",
        "Valse",
        "--label",
        "ballroom",
        "--unlabel",
        "pop",
        "--note",
        "3/4",
        "--collection",
        "c",
    ]
    answer = run_main("edit", db, "Waltz", *line)
    made = read_said(db).dance("Valse")

    assert 0 == answer.code
    assert "Waltz is now called Valse" == answer.out.splitlines()[0]
    assert f"5 changes; taken back by: dancematch edit {db} --undo" == answer.err.strip()
    assert (("ballroom",), "3/4", "c") == (made.labels, made.notes, made.collection)


def test_values_are_removed(db):
    run_main(
        "edit", db, "Waltz", "--note", "3/4", "--collection", "c", "--performer", "Cleo", "--date", "2020"
    )
    run_main("edit", db, "Waltz", "--no-note", "--no-collection", "--no-performer", "--no-date")
    said = read_said(db)

    assert (None, None) == (said.dance("Waltz").notes, said.dance("Waltz").collection)
    assert (None, None) == (said.recording("waltz.mp4").performer, said.recording("waltz.mp4").date)


def test_a_recording_is_named_by_its_file_or_the_beginning_of_its_id(db):
    ben = read_said(db).recording("ben.mp4").recording_id
    by_file = run_main("edit", db, "Thriller", "--recording", "ben.mp4", "--performer", "Ben")
    by_id = run_main("edit", db, "--recording", ben[:8], "--url", "https://example.org/ben")
    found = read_said(db).recording("ben.mp4")

    assert ("ben.mp4 (Thriller): performer Ben\n", 0) == (by_file.out, by_id.code)
    assert ("Ben", "https://example.org/ben") == (found.performer, found.url)


def test_of_a_dance_with_several_recordings_one_must_be_named(db):
    """The error lists them."""
    before = read_said(db)
    answer = run_main("edit", db, "Thriller", "--performer", "Anna")

    assert 1 == answer.code
    assert "'Thriller' has 2 recordings; say --recording with one of anna.mp4, ben.mp4" in answer.complaint
    assert before == read_said(db)


def test_dances_are_merged_and_the_merge_is_undone(db):
    """Undone again, it is made again."""
    before = read_said(db)
    merged = run_main("edit", db, "thriller cover", "--merge-into", "Thriller")
    after = read_said(db)

    assert "thriller cover: merged into Thriller with 1 recording\n" == merged.out
    assert ["anna.mp4", "ben.mp4", "cover.mp4"] == after.files("Thriller")
    assert 0 == run_main("edit", db, "--undo").code
    assert before == read_said(db)
    assert 0 == run_main("edit", db, "--undo").code
    assert after == read_said(db)


def test_all_of_a_label_are_merged_into_one_of_them(db):
    """The dance that they are merged into is not merged into itself."""
    answer = run_main("edit", db, "--with-label", "pop", "--merge-into", "Thriller")

    assert 0 == answer.code
    assert ["Thriller"] == [dance.name for dance in read_said(db).dances]


def test_recordings_move_to_another_dance_or_a_new_one(db):
    moved = run_main("edit", db, "Thriller", "--recording", "ben.mp4", "--move-to", "Waltz")
    alone = run_main("edit", db, "--recording", "ben.mp4", "--recording", "cover.mp4", "--new-dance", "Polka")
    said = read_said(db)

    assert ("ben.mp4: moved from Thriller to Waltz\n", 0) == (moved.out, alone.code)
    assert ["ben.mp4", "cover.mp4"] == said.files("Polka")
    assert ["Polka", "Thriller", "Waltz"] == [dance.name for dance in said.dances]


def test_a_segment_is_excluded_and_allowed_again(db):
    line = ["Thriller", "--recording", "anna.mp4"]
    run_main("edit", db, *line, "--exclude", 1, 2.5, "--reason", "walks on")
    (made,) = read_said(db).exclusions
    cleared = run_main("edit", db, *line, "--clear-exclusions")

    assert ("anna.mp4", 1, 2.5, "walks on") == (made.file, made.start, made.end, made.reason)
    assert "anna.mp4: all of it may match again" in cleared.out
    assert [] == read_said(db).exclusions


def test_a_dry_run_says_what_would_change_and_changes_nothing(db):
    before = read_said(db)
    answer = run_main("edit", db, "Waltz", "--name", "Valse", "--dry-run")

    assert (0, "Waltz is now called Valse\n") == (answer.code, answer.out)
    assert "1 change, not made: this was a dry run\n" == answer.err
    assert before == read_said(db)


def test_nothing_to_change_is_said(db):
    answer = run_main("edit", db, "Waltz", "--label", "pop")

    assert (0, "", "nothing to change\n") == (answer.code, answer.out, answer.err)


def test_programs_get_one_object(db):
    (told,) = run_main("edit", db, "Waltz", "--name", "Valse", "--json").objects

    assert ["Waltz is now called Valse"] == told["changes"]
    assert [read_said(db).dance("Valse").dance_id] == told["dance_ids"]
    assert not told["dry_run"]


def test_more_than_twenty_changes_are_counted(db):
    answer = run_main(
        "edit", db, "Waltz", *(word for n in range(25) for word in ("--label", f"label {n:02}"))
    )

    assert (21, "and 5 more; --json shows all") == (len(answer.out.splitlines()), answer.out.splitlines()[-1])


def test_a_table_of_dances_is_given_back_corrected(db, tmp_path):
    """Two dances that change their names among themselves, too: names are those before the edit."""
    table = write_table(
        tmp_path / "t.csv", read_said(db),
        Waltz={"name": "Thriller", "labels": "ballroom; slow"}, Thriller={"name": "Waltz", "labels": ""},
    )  # fmt: skip
    answer = run_main("edit", db, "--csv", table)
    said = read_said(db)

    assert 0 == answer.code
    assert (["waltz.mp4"], ("ballroom", "slow")) == (said.files("Thriller"), said.dance("Thriller").labels)
    assert () == said.dance("Waltz").labels
    assert ("pop",) == said.dance("thriller cover").labels


def test_a_table_of_recordings_moves_them(db, tmp_path):
    table = write_table(
        tmp_path / "t.csv", read_said(db), recordings=True,
        cover={"dance": "Thriller", "performer": "=Cleo"}, ben={"date": "2019-07"},
    )  # fmt: skip
    answer = run_main("edit", db, "--csv", table)
    said = read_said(db)

    assert 0 == answer.code
    assert ["anna.mp4", "ben.mp4", "cover.mp4"] == said.files("Thriller")
    assert ("=Cleo", "2019-07") == (said.recording("cover.mp4").performer, said.recording("ben.mp4").date)
    assert "nothing to change\n" == run_main("edit", db, "--csv", _as_listed(tmp_path, db)).err


def _as_listed(folder: Path, db: Path) -> Path:
    return write_table(folder / "listed.csv", read_said(db), recordings=True)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["polka", "--label", "x"], "has no dance named 'polka'"),
        (["Waltz", "polka", "--label", "x"], "has no dance named 'polka'"),
        (["Waltz", "--name", "Thriller"], "another dance has the name 'Thriller'"),
        (["Waltz", "--merge-into", "Waltz"], "'Waltz' cannot be merged into itself"),
        (["Waltz", "--merge-into", "polka"], "has no dance named 'polka'"),
        (["--recording", "gone.mp4", "--performer", "x"], "has no recording named 'gone.mp4'"),
        (["Waltz", "--recording", "ben.mp4", "--performer", "x"], "named 'ben.mp4'; nothing was changed"),
        (["Waltz", "--move-to", "polka"], "has no dance named 'polka'"),
        (["Waltz", "--new-dance", "Thriller"], "another dance has the name 'Thriller'"),
        (["Waltz", "--date", "yesterday"], "a date is a year, a month or a day"),
        (["Waltz", "--url", "example.org"], "a web address begins with http"),
        (["Waltz", "--name", " "], "needs a character that can be seen"),
        (["Waltz", "--exclude", "20", "30"], "it lasts 10.0 s"),
        (["Waltz", "--exclude", "3", "2"], "a segment ends after it starts, got"),
        (["--with-label", "jazz", "--note", "x"], "has the label 'jazz'"),
        (["--undo"], "there is no edit to undo"),
    ],
)
def test_what_cannot_be_edited_is_one_sentence_and_changes_nothing(db, arguments, complaint):
    before = read_said(db)
    answer = run_main("edit", db, *arguments)

    assert (1, "") == (answer.code, answer.out)
    assert complaint in answer.complaint
    assert before == read_said(db)


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ("dance_id,name\n{waltz},A\n{waltz},B\n", "lines 2 and 3 contradict each other about the dance"),
        ("dance_id,name\n{waltz},A\n{thriller},A\n", "lines 2 and 3 give two dances one name: 'A'"),
        ("dance_id,name\nd000000000000000,A\n", "line 2: there is no dance 'd000000000000000'"),
        ("recording_id,performer\n00,A\n", "line 2: there is no recording '00'"),
        ("recording_id,dance\n{ben},Polka\n", "no dance 'Polka'; to rename a dance, correct the table of"),
        ("recording_id,dance_id,performer\n{ben},{waltz},B\n", "ben.mp4 is a recording of 'Thriller'"),
        ("dance_id,name\n{waltz},Thriller\n", "another dance has the name 'Thriller'"),
        ("dance_id,name\n{waltz},\n", "line 2: the name is empty"),
        ("name,labels\nWaltz,x\n", "no column dance_id or recording_id"),
        ("", "is empty; a header was expected"),
    ],
)  # fmt: skip
def test_a_wrong_table_is_one_sentence_and_changes_nothing(db, tmp_path, rows, complaint):
    before = read_said(db)
    ids = {"waltz": before.dance("Waltz").dance_id, "thriller": before.dance("Thriller").dance_id}
    ben = before.recording("ben.mp4").recording_id
    (tmp_path / "t.csv").write_text(rows.format(**ids, ben=ben), encoding="utf-8")
    answer = run_main("edit", db, "--csv", tmp_path / "t.csv")

    assert (1, "") == (answer.code, answer.out)
    assert complaint in answer.complaint
    assert before == read_said(db)


def test_a_table_that_is_not_there_is_one_sentence(db, tmp_path):
    assert "gone.csv does not exist" in run_main("edit", db, "--csv", tmp_path / "gone.csv").complaint


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("", "say what to edit: name DANCES"),
        ("a", "say what to change"),
        ("a --undo", "DANCES and --undo both say what to edit; give one of them"),
        ("--undo --name b", "leave out the other options"),
        ("a b --name c", "--name is the name of one dance"),
        ("a --note x --no-note", "--note and --no-note contradict each other"),
        ("a --label x --unlabel x", "--label and --unlabel contradict each other about 'x'"),
        ("a --reason x", "give --exclude START END too"),
        ("a --move-to b --new-dance c", "--move-to names a dance that is there"),
        ("--recording a.mp4 --label x", "those of a dance: name it too"),
        ("a b --recording a.mp4 --performer x", "--recording names recordings of one dance"),
    ],
)
def test_options_that_contradict_each_other_are_wrong_usage(db, line, complaint):
    answer = run_main("edit", db, *line.split())

    assert (2, "") == (answer.code, answer.out)
    assert complaint in " ".join(answer.err.split())


def test_a_removal_ends_what_can_be_undone(db):
    run_main("edit", db, "Waltz", "--name", "Valse")
    store = Store(db, None, create=False)
    store.remove_many(["Valse"])
    store.close()

    assert "there is no edit to undo" in run_main("edit", db, "--undo").complaint


def list_table(db: Path, path: Path, *, recordings: bool = False, **changes: dict[str, str]) -> Path:
    """Write the same with its ETags, by a dance's name."""
    said, store = read_said(db), Store(db, None, create=False)
    etags = read_etags(store)
    store.close()
    lines = recordings_to_csv(said.recordings, etags) if recordings else dances_to_csv(said.dances, etags)
    rows = list(csv.DictReader(lines))
    for row in rows:
        row.update(changes.get(row.get("name") or row["dance"], {}))
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return path


@pytest.mark.parametrize(("recordings", "column"), [(False, "notes"), (True, "performer")])
def test_an_old_table_overwrites_no_newer_edit(db, tmp_path, recordings, column):
    """A row that would change a dance which was changed since is refused by its line."""
    table = list_table(db, tmp_path / "t.csv", recordings=recordings, Waltz={column: "mine"})
    run_main("edit", db, "Waltz", "--label", "theirs")
    before = read_said(db)
    line = next(n for n, text in enumerate(table.read_text().splitlines(), 1) if "mine" in text)
    answer = run_main("edit", db, "--csv", table)

    since = "Waltz was changed since the table was written; list it again; nothing was changed"
    assert (1, f"dancematch: {table}, line {line}: {since}") == (answer.code, answer.err.strip())
    assert before == read_said(db)


def test_a_row_that_changes_nothing_may_be_old(db, tmp_path):
    """A changed dance does not matter to rows of others; a row without an etag is not compared."""
    table = list_table(db, tmp_path / "t.csv", Waltz={"notes": "mine"})
    run_main("edit", db, "Thriller", "--recording", "anna.mp4", "--performer", "Anna")

    assert "etag" == table.read_text().splitlines()[0].split(",")[-1]
    assert "Waltz: notes mine" == run_main("edit", db, "--csv", table).out.strip()
    old = list_table(db, tmp_path / "old.csv", Waltz={"notes": "yours", "etag": ""})
    run_main("edit", db, "Waltz", "--label", "theirs")
    assert 0 == run_main("edit", db, "--csv", old).code
    assert ("yours", ("pop",)) == (read_said(db).dance("Waltz").notes, read_said(db).dance("Waltz").labels)


@pytest.mark.parametrize(
    ("chosen", "problem"),
    [
        (["Waltz"], "'Waltz' has no label 'pob'; nothing was changed"),
        (["--with-label", "pop"], "none of the 3 dances has the label 'pob'; nothing was changed"),
    ],
)
def test_a_label_that_no_dance_has_is_not_removed(db, chosen, problem):
    answer = run_main("edit", db, *chosen, "--unlabel", "pob", "--note", "x")

    assert (1, problem, None) == (answer.code, answer.complaint, read_said(db).dance("Waltz").notes)


def test_a_new_dance_of_a_name_that_is_there_is_refused_with_the_way(db):
    answer = run_main("edit", db, "--recording", "ben.mp4", "--new-dance", "Waltz")

    assert "another dance has the name 'Waltz'; move the recording to it (--move-to)" in answer.complaint


def test_an_edit_whose_old_name_is_taken_is_not_undone(db):
    run_main("edit", db, "Waltz", "--name", "Valse")
    store = Store(db, None, create=False)
    new = NewRecording(Dance("Waltz"), Recording(digest("new"), "new.mp4", 10.0))
    store.add(new, [StoredTrack(random_words(20, 5))])
    store.close()

    answer = run_main("edit", db, "--undo")
    assert f"the last edit of {db} cannot be undone: a dance was named 'Waltz' since" == answer.complaint


def test_an_undo_says_how_the_edit_is_made_again(db):
    run_main("edit", db, "Waltz", "--name", "Valse")

    assert "the last edit was taken back; --undo again makes it again\n" == run_main("edit", db, "--undo").err
    assert "the last edit was made again; --undo takes it back\n" == run_main("edit", db, "--undo").err
    assert "the last edit was taken back; --undo again makes it again\n" == run_main("edit", db, "--undo").err


def test_a_folder_with_a_copy_is_no_catalogue_to_edit(db, tmp_path):
    folder = tmp_path / "bk"
    run_main("copy", db, f"{folder}/")

    assert f"copy it into a file first: dancematch copy {folder} dances.db" in (
        run_main("edit", folder, "Waltz", "--name", "Valse").complaint
    )
