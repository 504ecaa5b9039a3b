"""What pyproject.toml cannot say: the packages, the page of the package index, and the
addresses beside it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

# where it is published, as https://github.com/owner/xformer
ADDRESS = os.environ.get("XFORMER_REPOSITORY", "")


class WithoutTests(build_py):
    """Builds the packages but for the tests that stand beside the parts of the page."""

    def find_package_modules(
        self, package: str, package_dir: str
    ) -> list[tuple[str, str, str]]:
        """List package, name and path of each module."""
        found = super().find_package_modules(package, package_dir)
        return [one for one in found if not one[1].startswith("test_")]


def page(text: str, address: str) -> str:
    """Return README.md without the metadata of a Space, its links absolute.

    address: of the repository; where it is "", what is linked within it is plain text,
    and pictures are left out.
    """

    def absolute(found: re.Match[str]) -> str:
        picture, shown, target = found.groups()
        if "://" in target:
            return found[0]
        if not address:
            return "" if picture else shown
        return f"{picture}[{shown}]({address.rstrip('/')}/{'raw' if picture else 'blob'}/HEAD/{target})"

    text = re.sub(r"\A---\n.*?\n---\n\s*", "", text, flags=re.DOTALL)
    return re.sub(r"(!?)\[([^\]]*)\]\(([^)#][^)]*)\)", absolute, text)


def addresses(address: str) -> dict[str, str]:
    """Return what the package index links beside the page; nothing where no address is
    known."""
    at = address.rstrip("/")
    return (
        {
            "Source": at,
            "Documentation": f"{at}/blob/HEAD/docs/USING.md",
            "Changelog": f"{at}/blob/HEAD/CHANGELOG.md",
            "Issues": f"{at}/issues",
        }
        if at
        else {}
    )


if __name__ == "__main__":
    setup(
        packages=[
            *find_packages(include=["xformer*"]),
            "xformer.assets",
            "xformer.checkpoints",
        ],
        cmdclass={"build_py": WithoutTests},
        long_description=page(
            (Path(__file__).parent / "README.md").read_text(encoding="utf-8"), ADDRESS
        ),
        long_description_content_type="text/markdown",
        project_urls=addresses(ADDRESS),
    )
