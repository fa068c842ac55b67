#!/bin/sh
# check_tools.sh - installs what tests/check.sh can use: packages of Debian and its like as root, of Python into
# build/.  What there is not is skipped, and so are its checks.
set -u
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
. tests/report.sh

# get PURPOSE PACKAGE...: all at once or, where that fails, one by one
get() {
  purpose=$1; shift
  if install "$@"; then ok "$purpose"; return; fi
  for package in "$@"; do
    install "$package" || { skipped "$purpose: $package not installed"; }
  done
}
install() {
  timeout 300 apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends "$@" < /dev/null \
    > /dev/null 2>&1
}

# Compilers and emulators.  gcc-N-multilib stands beside the cross compilers, where the package named
# gcc-multilib would remove them.  bochs-term: else Bochs brings the libraries of a desktop.
packages() {
  apt-get -o DPkg::Lock::Timeout=600 update < /dev/null > /dev/null 2>&1
  get "this machine" libc6-dev gcc g++ make clang tcc python3-venv
  version=$(clang -dumpversion 2> /dev/null)
  version=${version%%.*}
  get "sanitizers and analysers" "libclang-rt-$version-dev" clang-tidy cppcheck valgrind
  get "32-bit x86" "gcc-$(gcc -dumpversion)-multilib" libc6-dev-i386
  get "emulators" qemu-user qemu-system-arm qemu-system-misc
  get "aarch64" gcc-aarch64-linux-gnu libc6-dev-arm64-cross
  get "armhf" gcc-arm-linux-gnueabihf libc6-dev-armhf-cross
  get "riscv64" gcc-riscv64-linux-gnu libc6-dev-riscv64-cross
  get "s390x" gcc-s390x-linux-gnu libc6-dev-s390x-cross
  get "mips" gcc-mips-linux-gnu libc6-dev-mips-cross
  get "ppc64le" gcc-powerpc64le-linux-gnu libc6-dev-ppc64el-cross
  get "Cortex-M" gcc-arm-none-eabi
  get "RV32" gcc-riscv64-unknown-elf
  get "AVR" gcc-avr avr-libc simavr
  get "Windows" gcc-mingw-w64-x86-64-win32 wine64 wine
  get "WebAssembly" wasi-libc "libclang-rt-$version-dev-wasm32" "lld-$version"
  have node || get "Node" nodejs
  get "Bochs" bochs bochs-term bochsbios vgabios
}

if [ "$(id -u)" -eq 0 ] && have apt-get; then packages
else skipped "packages: not root, or apt-get not installed"; fi
for module in wasmtime ziglang; do
  if python=$(sh tests/python.sh $module 2> /dev/null) && "$python" -c "import $module" 2> /dev/null
  then ok "Python's $module"; else skipped "Python's $module not installed"; fi
done
total
