/* run.mjs - runs one WebAssembly program under Node, and ends with its exit status.

   node --no-warnings tests/wasm/run.mjs program [arguments...] */
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";

const args = process.argv.slice(2);
const wasi = new WASI({ version: "preview1", args, returnOnExit: true });
const program = new WebAssembly.Module(readFileSync(args[0]));
const instance = new WebAssembly.Instance(program, { wasi_snapshot_preview1: wasi.wasiImport });
process.exitCode = wasi.start(instance);
