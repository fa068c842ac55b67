# run.py - runs one WebAssembly program under wasmtime, and ends with its exit status.
#
#   python3 tests/wasm/run.py program [arguments...]
import sys

from wasmtime import Engine, ExitTrap, Linker, Module, Store, WasiConfig

engine = Engine()
store = Store(engine)
linker = Linker(engine)
linker.define_wasi()
config = WasiConfig()
config.argv = sys.argv[1:]
config.inherit_stdout()
config.inherit_stderr()
store.set_wasi(config)
instance = linker.instantiate(store, Module.from_file(engine, sys.argv[1]))
try:
    instance.exports(store)["_start"](store)
except ExitTrap as exit:
    sys.exit(exit.code)
