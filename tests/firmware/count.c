/* count.c - a plugin for QEMU's emulation of any CPU: how many instructions ran between two functions.

   qemu-system-arm -plugin count.so,begin=0x1234,end=0x5678,out=counts ...

   begin and end are addresses of functions; each time `end` is entered, the number of instructions since
   `begin` was goes to the file as one line: the same at every run, for QEMU is no clock, but it does count.

   QEMU is often installed without the header for this, so here are the few declarations of its plugin
   interface (version 1) that are needed. */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t                 plugin_id;
typedef struct qemu_plugin_tb   block; /* instructions that QEMU translates at once */
typedef struct qemu_plugin_insn instruction;

enum { NO_REGISTERS = 0, ADD_U64 = 0 };

extern void         qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*f)(plugin_id id, block *b));
extern size_t       qemu_plugin_tb_n_insns(const block *b);
extern instruction *qemu_plugin_tb_get_insn(const block *b, size_t n);
extern uint64_t     qemu_plugin_insn_vaddr(const instruction *n);
extern void qemu_plugin_register_vcpu_insn_exec_cb(instruction *n, void (*f)(unsigned cpu, void *p),
                                                   int registers, void *p);
extern void qemu_plugin_register_vcpu_insn_exec_inline(instruction *n, int operation, void *p,
                                                       uint64_t value);

#define EXPORT __attribute__((visibility("default")))
extern EXPORT int qemu_plugin_version;
EXPORT int        qemu_plugin_version = 1;
EXPORT int        qemu_plugin_install(plugin_id id, const void *about, int argc, char **argv);

static uint64_t    executed, at_begin, begin, end;
static const char *out;

static void on_begin(unsigned cpu, void *p) {
  (void)cpu, (void)p;
  at_begin = executed;
}

static void on_end(unsigned cpu, void *p) {
  FILE *f = fopen(out, "a");
  (void)cpu, (void)p;
  if (!f || fprintf(f, "%" PRIu64 "\n", executed - at_begin) < 0 || fclose(f)) exit(121);
}

static void on_block(plugin_id id, block *b) {
  size_t n, count = qemu_plugin_tb_n_insns(b);
  (void)id;
  for (n = 0; n < count; n++) {
    instruction   *i = qemu_plugin_tb_get_insn(b, n);
    const uint64_t at = qemu_plugin_insn_vaddr(i);
    if (at == begin) qemu_plugin_register_vcpu_insn_exec_cb(i, on_begin, NO_REGISTERS, NULL);
    if (at == end) qemu_plugin_register_vcpu_insn_exec_cb(i, on_end, NO_REGISTERS, NULL);
    qemu_plugin_register_vcpu_insn_exec_inline(i, ADD_U64, &executed, 1);
  }
}

int qemu_plugin_install(plugin_id id, const void *about, int argc, char **argv) {
  int n;
  (void)about;
  for (n = 0; n < argc; n++) {
    if (strncmp(argv[n], "begin=", 6) == 0) begin = strtoull(argv[n] + 6, NULL, 16);
    if (strncmp(argv[n], "end=", 4) == 0) end = strtoull(argv[n] + 4, NULL, 16);
    if (strncmp(argv[n], "out=", 4) == 0) out = strdup(argv[n] + 4);
  }
  if (!begin || !end || !out) return 1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
  return 0;
}
