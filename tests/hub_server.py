"""A Hugging Face Hub on loopback: as much of its HTTP interface as the real client uses
to upload and to download.

Repositories, commits and large files (LFS) live in memory; a Space is named
spaces/owner/name. What was asked is in `log`; `faults` make it misbehave.
"""

import base64
import hashlib
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

SMALL = 10_000  # bytes from which on a file is stored as LFS


def git_name(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@dataclass
class Repository:
    private: bool = False
    variables: dict = field(default_factory=dict)  # of the environment of a Space
    commits: dict = field(default_factory=dict)  # commit → path → content
    branches: dict = field(default_factory=dict)  # branch or tag → commit
    # (number, author, title) of open pull requests
    proposals: list = field(default_factory=list)

    def commit(self, files, branch="main"):
        tree = {**self.commits.get(self.branches.get(branch), {}), **files}
        tree = {path: content for path, content in tree.items() if content is not None}
        name = hashlib.sha1(
            repr((len(self.commits), sorted(tree))).encode()
        ).hexdigest()
        self.commits[name] = tree
        self.branches[branch] = name
        return name

    def find(self, revision):
        commit = self.branches.get(revision, revision)
        return commit if commit in self.commits else None


class Hub(ThreadingHTTPServer):
    """`repositories` by owner/name, or spaces/owner/name, `log` of (method, path),
    `token` that may see what is private and may write."""

    token = "hf_secret"
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.repositories = {}
        self.large = {}
        self.log = []
        self.faults = []
        self.thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self.thread.start()

    def requests(self):
        """What was asked since the last time, without what the client asks once a day:
        a list of programs."""
        found = [line for line in self.log if "agent-harnesses" not in line]
        self.log[:] = []
        return found

    def add(self, name, files, private=False):
        repository = self.repositories.setdefault(name, Repository(private))
        return repository.commit(files)

    def stop(self):
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    """Each fault is a function of a handler and a path, and true where it has answered
    in the Hub's place."""

    protocol_version = "HTTP/1.1"
    server: Hub

    def log_message(self, *args):
        pass

    def handle_any(self):
        path = unquote(urlsplit(self.path).path)
        query = urlsplit(self.path).query
        self.server.log.append(f"{self.command} {path}")
        self.body = self.read_body()
        if any(fault(self, path) for fault in self.server.faults):
            return
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "models"]:
            self.api(f"{parts[2]}/{parts[3]}", parts[4:], query)
        elif parts[:2] == ["api", "spaces"]:
            self.api(f"spaces/{parts[2]}/{parts[3]}", parts[4:], query)
        elif path == "/api/repos/create":
            self.create(json.loads(self.body))
        elif path == "/api/validate-yaml":
            self.answer({"errors": [], "warnings": []})
        elif parts[0] == "large" and self.command == "PUT":
            self.upload(parts[1])
        elif parts[2:3] == ["resolve"]:
            self.file(f"{parts[0]}/{parts[1]}", parts[3], "/".join(parts[4:]))
        elif path.endswith(".git/info/lfs/objects/batch"):
            self.batch()
        else:
            self.refuse(404)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_any

    def read_body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def answer(self, content, status=200, headers=()):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status, code=None):
        self.answer(
            {"error": code or status}, status, {"X-Error-Code": code} if code else {}
        )

    def may(self, repository):
        return (
            not repository.private
            or self.headers.get("Authorization") == f"Bearer {self.server.token}"
        )

    def repository(self, name):
        """The repository, or None after it was said that there is none; the Hub says
        401 to who has no token."""
        found = self.server.repositories.get(name)
        if found is None or not self.may(found):
            self.refuse(
                404 if self.headers.get("Authorization") else 401, "RepoNotFound"
            )
            return None
        return found

    def api(self, name, rest, query):
        repository = self.repository(name)
        if repository is None:
            return
        if rest[:1] == ["preupload"]:
            self.answer(
                {
                    "files": [
                        {
                            "path": file["path"],
                            "shouldIgnore": False,
                            "uploadMode": "lfs" if file["size"] >= SMALL else "regular",
                        }
                        for file in json.loads(self.body)["files"]
                    ]
                }
            )
        elif rest[:1] == ["branch"]:
            if self.writer():
                repository.branches.setdefault(rest[1], repository.branches["main"])
                self.answer({})
        elif rest[:1] == ["commit"]:
            self.commit(name, repository, "/".join(rest[1:]), "create_pr=1" in query)
        elif rest == ["discussions"]:
            asked = parse_qs(query).get("author", [None])[0]
            found = [
                {
                    "num": number,
                    "title": title,
                    "status": "open",
                    "isPullRequest": True,
                    "author": {"name": author},
                    "createdAt": "2023-05-01T12:00:00.000Z",
                    "repo": {"name": name, "type": "model"},
                }
                for number, author, title in repository.proposals
                if asked in (None, author)
            ]
            self.answer(
                {
                    "discussions": found,
                    "count": len(found),
                    "start": 0,
                    "numClosedDiscussions": 0,
                }
            )
        elif rest == ["variables"]:
            self.variables(repository)
        elif rest[:1] == ["tree"]:
            self.answer(
                [
                    {
                        "type": "file",
                        "path": path,
                        "size": len(content),
                        "oid": git_name(content),
                    }
                    for path, content in repository.commits[
                        repository.find(rest[1])
                    ].items()
                ]
            )
        elif rest[:1] in ([], ["revision"]):
            revision = "/".join(rest[1:]) or "main"
            commit = repository.find(revision)
            if commit is None:
                self.refuse(404, "RevisionNotFound")
            else:
                self.answer(
                    {
                        "id": name,
                        "sha": commit,
                        "private": repository.private,
                        "siblings": [
                            self.sibling(path, content)
                            for path, content in repository.commits[commit].items()
                        ],
                    }
                )
        else:
            self.refuse(404)

    def variables(self, repository):
        if not self.writer():
            return
        wanted = json.loads(self.body or "{}")
        if self.command == "POST":
            repository.variables[wanted["key"]] = wanted["value"]
        elif self.command == "DELETE":
            del repository.variables[wanted["key"]]
        self.answer(
            {
                key: {"key": key, "value": value}
                for key, value in repository.variables.items()
            }
        )

    @staticmethod
    def sibling(path, content):
        found = {"rfilename": path, "size": len(content), "blobId": git_name(content)}
        if len(content) >= SMALL:
            found["lfs"] = {
                "sha256": hashlib.sha256(content).hexdigest(),
                "size": len(content),
                "pointerSize": 134,
            }
        return found

    def writer(self):
        if self.headers.get("Authorization") == f"Bearer {self.server.token}":
            return True
        self.refuse(401)
        return False

    def create(self, wanted):
        name = f"{wanted['organization']}/{wanted['name']}"
        if wanted.get("type") == "space":
            assert wanted["sdk"] == "gradio"
            name = f"spaces/{name}"
        if not self.writer():
            return
        if name in self.server.repositories:
            self.answer({"error": "exists", "url": f"{self.server.url}/{name}"}, 409)
            return
        repository = self.server.repositories[name] = Repository(
            wanted.get("visibility") == "private"
        )
        repository.commit({".gitattributes": b""})
        self.answer({"url": f"{self.server.url}/{name}"})

    def batch(self):
        if self.writer():
            self.answer(
                {
                    "transfer": "basic",
                    "objects": [
                        {
                            **wanted,
                            "actions": {
                                "upload": {
                                    "href": f"{self.server.url}/large/{wanted['oid']}"
                                }
                            },
                        }
                        for wanted in json.loads(self.body)["objects"]
                    ],
                }
            )

    def upload(self, digest):
        if hashlib.sha256(self.body).hexdigest() != digest:
            self.refuse(400)
            return
        self.server.large[digest] = self.body
        self.answer({})

    def commit(self, name, repository, branch, proposed):
        if not self.writer():
            return
        if proposed:
            repository.branches["refs/pr/1"] = repository.branches[branch]
            branch = "refs/pr/1"
        files = {}
        for line in self.body.splitlines():
            entry = json.loads(line)
            value = entry["value"]
            if entry["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif entry["key"] == "lfsFile":
                files[value["path"]] = self.server.large[value["oid"]]
            elif entry["key"] == "deletedFile":
                files[value["path"]] = None
        commit = repository.commit(files, branch)
        more = (
            {"pullRequestUrl": f"{self.server.url}/{name}/discussions/1"}
            if proposed
            else {}
        )
        self.answer(
            {
                "commitUrl": f"{self.server.url}/{name}/commit/{commit}",
                "commitOid": commit,
                **more,
            }
        )

    def file(self, name, revision, path):
        repository = self.repository(name)
        if repository is None:
            return
        commit = repository.find(revision)
        if commit is None:
            self.refuse(404, "RevisionNotFound")
        elif path not in repository.commits[commit]:
            self.refuse(404, "EntryNotFound")
        else:
            self.content(commit, repository.commits[commit][path])

    def content(self, commit, content):
        sent = self.sibling("", content)
        etag = sent["lfs"]["sha256"] if "lfs" in sent else sent["blobId"]
        headers = {
            "ETag": f'"{etag}"',
            "X-Repo-Commit": commit,
            "Accept-Ranges": "bytes",
        }
        if "lfs" in sent:
            headers |= {
                "X-Linked-Etag": f'"{etag}"',
                "X-Linked-Size": str(len(content)),
            }
        asked = self.headers.get("Range")
        if not asked:
            self.answer(content, headers=headers)
            return
        first = int(asked.removeprefix("bytes=").split("-")[0])
        if first >= len(content):
            self.refuse(416)
            return
        headers["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
        self.answer(content[first:], 206, headers)
