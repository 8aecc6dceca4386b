#!/usr/bin/env bash
# Shows that the simulated Feishu platform is one to the official clients: each of them, as its
# registry has it today, connects to it, receives an event, acknowledges it, and connects again
# after a cut. It needs python3 with venv, node with npm, and the network; `cargo xtask test` leaves
# it out. Everything that it installs stays below target/feishu-clients.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
place=${CARGO_TARGET_DIR:-$root/target}/feishu-clients
mkdir -p "$place"

[ -x "$place/venv/bin/python" ] || python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check lark-oapi
npm install --silent --no-fund --no-audit --prefix "$place" @larksuiteoapi/node-sdk https-proxy-agent
cp "$here/client.mjs" "$place/client.mjs"

cd "$root"
cargo build --quiet -p scv-simulators --example feishu_clients
show() { cargo run --quiet -p scv-simulators --example feishu_clients -- "$@"; }
# The Python client takes a proxy for REST and none for its websocket.
show --direct lark-oapi "$place/venv/bin/python" "$here/client.py"
show @larksuiteoapi/node-sdk node "$place/client.mjs"
