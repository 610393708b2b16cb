// Runs the WebAssembly build of Lean as a resident process: `node host.js CONFIG.json [lean arguments]`.
// CONFIG: {loader, lib, src, out, serve, requests}: host paths of the patched loader, Lean's library, the sources, the
// object files, the folder of Serve.lean, and the FIFO from which requests are read, a line each.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const config = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const quiet = (stream) => (text) => {
  // The build prints its own loader trace; it is not Lean's output.
  if (!String(text).startsWith("[DEBUG")) stream.write(String(text) + "\n");
};

let requests = null;
let pending = Buffer.alloc(0);
let chunkEnd = false;
// `null` after each chunk tells the C library that the line is complete; without it getLine waits for more.
function readByte() {
  if (chunkEnd) {
    chunkEnd = false;
    return null;
  }
  if (pending.length === 0) {
    if (requests === null) requests = fs.openSync(config.requests, "r");
    const chunk = Buffer.alloc(4096);
    const size = fs.readSync(requests, chunk, 0, chunk.length, null);
    if (size === 0) process.exit(0); // The writer is gone.
    pending = chunk.subarray(0, size);
  }
  const byte = pending[0];
  pending = pending.subarray(1);
  chunkEnd = pending.length === 0;
  return byte;
}

function mount() {
  ENV.LEAN_PATH = "/lean-lib:/out";
  // Lean enters the host's working folder and looks for the folder of its own program, both by their host paths.
  FS.mkdirTree(process.cwd());
  FS.mkdirTree(path.dirname(config.loader));
  const mounts = { "/lean-lib": config.lib, "/src": config.src, "/out": config.out, "/serve": config.serve };
  for (const [point, folder] of Object.entries(mounts)) {
    FS.mkdir(point);
    FS.mount(NODEFS, { root: folder }, point);
  }
}

global.require = require;
global.__filename = config.loader;
global.__dirname = path.dirname(config.loader);
global.Module = {
  arguments: process.argv.slice(3),
  mainScriptUrlOrBlob: config.loader,
  locateFile: (name) => path.join(path.dirname(config.loader), name),
  preRun: [mount],
  stdin: readByte,
  print: quiet(process.stdout),
  printErr: quiet(process.stderr),
};
vm.runInThisContext(fs.readFileSync(config.loader, "utf8"), { filename: config.loader });
