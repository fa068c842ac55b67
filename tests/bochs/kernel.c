/* kernel.c - as much of Linux as a statically linked test program needs, for a PC that exists only in Bochs.

   The program file lies on the disk, SECTORS behind the boot sector.  kernel() puts its segments where they
   belong and starts it with -DARGUMENTS='"name","argument"...'.  What it writes goes to port 0xe9, which
   Bochs copies to its own output, and then comes a line "status N". */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>

enum { IMAGE = 0x4000000, STACK_TOP = 0x7f00000 }; /* of 128 MB; the heap may grow up to IMAGE, the file */

static uint64_t heap_first, heap_end;

static void port_out(unsigned port, char byte) {
  __asm__ volatile("outb %0, %w1" : : "a"(byte), "Nd"(port));
}

static void put(const char *text, uint64_t n) {
  while (n--) port_out(0xe9, *text++);
}

static void clear(uint64_t from, uint64_t to) {
  for (; from < to; from++) *(volatile unsigned char *)from = 0;
}

static void end(uint64_t status) {
  static const char off[] = "Shutdown"; /* what Bochs takes, at this port, for the switch */
  char              line[] = "status 000\n";
  unsigned          n;
  for (n = 9; n > 6; n--, status /= 10) line[n] = (char)('0' + status % 10);
  put(line, sizeof line - 1);
  for (n = 0; off[n]; n++) port_out(0x8900, off[n]);
  for (;;) __asm__ volatile("hlt");
}

/* `n` sectors of the first disk, from number `first` on; no interrupt says when one is there. */
static void read_disk(uint32_t first, unsigned n, unsigned char *to) {
  enum { DATA = 0x1f0, COUNT = 0x1f2, LOW, MIDDLE, HIGH, DRIVE, COMMAND };
  enum { READ = 0x20, BUSY = 0x80, READY = 8 };
  unsigned char state;
  uint64_t      words;
  for (; n--; first++) {
    port_out(COUNT, 1);
    port_out(LOW, (char)first);
    port_out(MIDDLE, (char)(first >> 8));
    port_out(HIGH, (char)(first >> 16));
    port_out(DRIVE, (char)0xe0);
    port_out(COMMAND, READ);
    do __asm__ volatile("inb %w1, %0" : "=a"(state) : "Nd"(COMMAND));
    while (state & BUSY || !(state & READY));
    words = 256;
    __asm__ volatile("rep insw" : "+D"(to), "+c"(words) : "d"(DATA) : "memory");
  }
}

static void set_thread_pointer(uint64_t p) {
  __asm__ volatile("wrmsr" : : "c"(0xc0000100u), "a"((uint32_t)p), "d"((uint32_t)(p >> 32)));
}

/* The Linux system call `number`; called by start.S.  Without mmap malloc takes all from the heap. */
int64_t answer(uint64_t number, uint64_t a, uint64_t b, uint64_t c);
int64_t answer(uint64_t number, uint64_t a, uint64_t b, uint64_t c) {
  enum { WRITE = 1, MMAP = 9, MPROTECT = 10, BRK = 12, EXIT = 60, ARCH_PRCTL = 158, EXIT_GROUP = 231 };
  enum { SET_FS = 0x1002, NO_MEMORY = -12, INVALID = -22, NOT_HERE = -38 };
  switch (number) {
    case WRITE:
      put((const char *)b, c);
      return (int64_t)c;
    case BRK:
      if (a < heap_first || a > IMAGE) return (int64_t)heap_end;
      clear(heap_end, a); /* calloc trusts us */
      heap_end = a;
      return (int64_t)heap_end;
    case ARCH_PRCTL:
      if (a != SET_FS) return INVALID;
      set_thread_pointer(b);
      return 0;
    case EXIT:
    case EXIT_GROUP: end(a & 255); return 0;
    case MMAP:       return NO_MEMORY;
    case MPROTECT:   return 0;
    default:         return NOT_HERE;
  }
}

static void load(const unsigned char *file, const Elf64_Phdr *segment) {
  unsigned char *to = (unsigned char *)segment->p_vaddr;
  uint64_t       n;
  for (n = 0; n < segment->p_filesz; n++) ((volatile unsigned char *)to)[n] = file[segment->p_offset + n];
  clear(segment->p_vaddr + n, segment->p_vaddr + segment->p_memsz);
  if (segment->p_vaddr + segment->p_memsz > heap_first)
    heap_first = (segment->p_vaddr + segment->p_memsz + 4095) & ~(uint64_t)4095;
}

void kernel(void);
void kernel(void) {
  static const char *const arguments[] = { ARGUMENTS };
  static const uint64_t    random[2] = { 0x0123456789abcdef, 0xfedcba9876543210 }; /* for stack protectors */
  enum { COUNT = sizeof arguments / sizeof arguments[0] };
  const unsigned char *file = (const unsigned char *)IMAGE;
  const Elf64_Ehdr    *elf = (const Elf64_Ehdr *)IMAGE;
  const Elf64_Phdr    *segments;
  uint64_t            *stack = (uint64_t *)STACK_TOP - (COUNT + 8) / 2 * 2 - 2, *p = stack;
  unsigned             n;
  read_disk(1 + SECTORS, PROGRAM_SECTORS, (unsigned char *)IMAGE);
  segments = (const Elf64_Phdr *)(file + elf->e_phoff);
  for (n = 0; n < elf->e_phnum; n++)
    if (segments[n].p_type == PT_LOAD) load(file, &segments[n]);
  heap_end = heap_first;
  *p++ = COUNT;
  for (n = 0; n < COUNT; n++) *p++ = (uint64_t)arguments[n];
  *p++ = 0; /* end of the arguments */
  *p++ = 0; /* no environment */
  *p++ = AT_RANDOM, *p++ = (uint64_t)random;
  *p++ = AT_PAGESZ, *p++ = 4096;
  *p++ = AT_NULL, *p++ = 0;
  __asm__ volatile("movq %0, %%rsp\n\txorl %%edx, %%edx\n\tjmpq *%1" /* rdx: nothing to call at exit */
                   : : "r"(stack), "r"(elf->e_entry) : "rdx");
}
