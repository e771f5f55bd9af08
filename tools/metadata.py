"""Write codemeta.json and .zenodo.json, and the version into CITATION.cff.

What is known of the project is written once: title, authors, abstract, keywords and
papers in CITATION.cff; version, licence and requirements in pyproject.toml; the address
in _config.yml. `make refresh` calls this; the suite checks that nothing has drifted.
"""

import json
import re
import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from publish import home

ROOT = Path(__file__).resolve().parent.parent


def sources():
    """The citation, the package, and the repository's address: None until _config.yml has more than a placeholder."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return citation, package, home()


def codemeta(citation, package, address):
    """CodeMeta 3.0, for archives of software."""
    about = {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": citation["title"],
        "description": citation["abstract"],
        "version": package["version"],
        "license": f"https://spdx.org/licenses/{package['license']}",
        "author": [agent(a) for a in citation["authors"]],
        "keywords": citation["keywords"],
        "programmingLanguage": ["Python", "JavaScript", "Coq"],
        "runtimePlatform": f"Python {package['requires-python']}",
        "softwareRequirements": [software(need) for need in package["dependencies"]],
        "softwareSuggestions": [
            software(need)
            for extra in package["optional-dependencies"].values()
            for need in extra
            if not need.startswith(package["name"])  # an extra of our own
        ],
        "referencePublication": [
            {
                "@type": "ScholarlyArticle",
                "@id": f"https://doi.org/{paper['doi']}",
                "name": paper["title"],
            }
            for paper in citation["references"]
        ],
    }
    if address:
        about |= {"codeRepository": address, "issueTracker": f"{address}/issues"}
    if "doi" in citation:
        about["identifier"] = f"https://doi.org/{citation['doi']}"
    if "date-released" in citation:
        about["datePublished"] = str(citation["date-released"])
    return about


def software(requirement):
    """What is needed, as CodeMeta has it: a bare text would be read as an address."""
    need = Requirement(requirement)
    version = {"version": str(need.specifier)} if need.specifier else {}
    return {"@type": "SoftwareSourceCode", "name": need.name} | version


def zenodo(citation, package, address):
    """What Zenodo takes in place of its own guesses when a release is archived."""
    related = [
        {
            "identifier": paper["doi"],
            "relation": "cites",
            "resource_type": "publication-article",
            "scheme": "doi",
        }
        for paper in citation["references"]
    ]
    if address:
        related += [
            {"identifier": address, "relation": "isSupplementTo", "scheme": "url"}
        ]
    return {
        "title": citation["title"],
        "upload_type": "software",
        "description": citation["abstract"],
        "version": package["version"],
        "access_right": "open",
        "license": package["license"],
        "notes": "Code: MIT. Prose and figures: CC BY 4.0. Data: see NOTICE.",
        "creators": [creator(a) for a in citation["authors"]],
        "keywords": citation["keywords"],
        "language": "eng",
        "related_identifiers": related,
    }


def agent(author):
    """An author of CITATION.cff, for CodeMeta."""
    if "name" in author:
        return {"@type": "Organization", "name": author["name"]}
    person = {
        "@type": "Person",
        "givenName": author["given-names"],
        "familyName": author["family-names"],
    }
    if "orcid" in author:
        person["@id"] = author["orcid"]
    if "affiliation" in author:
        person["affiliation"] = {"@type": "Organization", "name": author["affiliation"]}
    return person


def creator(author):
    """An author of CITATION.cff, for Zenodo, which wants the family name first and the bare number of an ORCID."""
    name = author.get("name") or f"{author['family-names']}, {author['given-names']}"
    more = {"orcid": author["orcid"].rsplit("/", 1)[-1]} if "orcid" in author else {}
    return (
        {"name": name} | more | {k: author[k] for k in ("affiliation",) if k in author}
    )


def cited(text, package):
    """The text of CITATION.cff, with the package's version in its line."""
    return re.sub(r"^version: .*$", f"version: {package['version']}", text, flags=re.M)


def files():
    """{path: text} of what is generated."""
    made = {"codemeta.json": codemeta, ".zenodo.json": zenodo}
    texts = {
        ROOT / name: json.dumps(make(*sources()), indent=2, ensure_ascii=False) + "\n"
        for name, make in made.items()
    }
    citation = ROOT / "CITATION.cff"
    return {citation: cited(citation.read_text(), sources()[1])} | texts


if __name__ == "__main__":
    from hmlib.files import write_whole

    for path, text in files().items():
        write_whole(path, text)
