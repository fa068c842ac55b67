/* quantize.c - prints the constants of integer attention as C source, to be const in the flash of a device
   that computes no float.

   cc -O2 examples/quantize.c -o quantize
   ./quantize native d_k=32 kv_len=81 q=0.02,3 k=0.02,-7 v=0.02,5 o=0.01,-2 > attention.h

   It takes the scales and zero points of a quantised model; without arguments it says how.  What it prints is
   C99 and C++98, and wants MHA_NO_FLOAT no less than mha.h with everything:

   #include "attention.h"
   static unsigned char scratch[ATTENTION_SCRATCH_BYTES];
   d.consts = attention;    the lengths, q, k, v and o as in mha.h
   mha_s8_native(&d, 0, MHA_ALL, scratch, sizeof scratch); */
#define MHA_IMPLEMENTATION
#include "../mha.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 64 };

/* One head, as the command line has it */
typedef struct {
  mha_s8_quant  quant;
  mha_s8_affine product, scalar; /* of an int8 MUL by a scalar between logits and softmax; scale 0: none */
  int           code;            /* the scalar's */
  signed char   map[256];        /* what it makes of each logit */
  int32_t       table[256];
  mha_s8_consts consts;
} head_type;

static head_type heads[HEADS]; /* static: 85 KB */

static const char usage[] =
  "usage: quantize tflm|native NAME=VALUE... [head NAME=VALUE...]... > attention.h\n"
  "\n"
  "  d_k=32  kv_len=81        channels of a head, and the most keys there will be\n"
  "  q=SCALE,ZERO             real number = SCALE * (code - ZERO); likewise k=, v= and o=, the output\n"
  "  scale=0.25               native: the factor of q k^T, if it is not 1/sqrt(d_k)\n"
  "  logits=SCALE,ZERO        tflm: the output of the first BATCH_MATMUL\n"
  "  beta=1                   tflm: the softmax's beta\n"
  "  mul=SCALE,ZERO           tflm: the output of an int8 MUL by a scalar between logits and softmax, and\n"
  "  scalar=SCALE,CODE,ZERO   its scalar: code and quantisation\n"
  "  name=attention           what the constants are to be called\n"
  "  table=flash              tflm: the softmax's table of 1 KB; =ram leaves it to be filled at the start\n"
  "\n"
  "  head   what follows holds for the next query head, all else stays: for consts_stride 1\n";

static int fail(const char *what, const char *why) {
  fprintf(stderr, "quantize: %s: %s\n", what, why);
  return 1;
}

/* A whole number of least .. most that ends with end; returns what is behind it, or NULL */
static const char *read_whole(long *n, const char *text, char end, long least, long most) {
  char *stop;
  *n = strtol(text, &stop, 10);
  return stop == text || *stop != end || *n < least || *n > most ? NULL : stop + 1;
}

static int read_size(size_t *size, const char *text) {
  long n;
  if (!read_whole(&n, text, '\0', 1, 1000000)) return 0;
  *size = (size_t)n;
  return 1;
}

/* A float, not infinite, that ends with end; mha_s8_prepare checks the rest */
static const char *read_float(float *x, const char *text, char end) {
  char        *stop;
  const double number = strtod(text, &stop);
  *x = number <= 3e38 ? (float)number : 0.0f;
  return stop == text || *stop != end || !(number <= 3e38) ? NULL : stop + 1;
}

static int read_scale(float *x, const char *text) { return read_float(x, text, '\0') && *x > 0.0f; }

static int read_affine(mha_s8_affine *a, const char *text) {
  long zero = 0;
  text = read_float(&a->scale, text, ',');
  if (!text || !read_whole(&zero, text, '\0', -128, 127)) return 0;
  a->zero = (int)zero;
  return a->scale > 0.0f;
}

static int read_scalar(head_type *h, const char *text) {
  long code = 0, zero = 0;
  text = read_float(&h->scalar.scale, text, ',');
  if (text) text = read_whole(&code, text, ',', -128, 127);
  if (!text || !read_whole(&zero, text, '\0', -128, 127)) return 0;
  h->code = (int)code, h->scalar.zero = (int)zero;
  return h->scalar.scale > 0.0f;
}

static int read_place(int *in_ram, const char *text) {
  *in_ram = strcmp(text, "ram") == 0;
  return *in_ram || strcmp(text, "flash") == 0;
}

/* An identifier of C and C++, but for their keywords, and not one of mha.h's */
static int is_name(const char *text) {
  static const char letters[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  if (!*text || (*text >= '0' && *text <= '9') || strlen(text) > 40) return 0;
  if (strncmp(text, "mha_", 4) == 0 || strncmp(text, "MHA_", 4) == 0) return 0;
  return text[strspn(text, letters)] == '\0';
}

/* x * factor by TensorFlow Lite's integers: the factor is rounded to 31 bits, then the product, then its
   shift, each to nearest and the last one halves away from zero. */
static long requantize(long x, double factor) {
  int     exponent = 0;
  int64_t multiplier, y;
  while (factor >= 1.0) factor /= 2.0, exponent++;
  while (factor < 0.5 && exponent > -32) factor *= 2.0, exponent--;
  if (exponent < -31) return 0;
  multiplier = (int64_t)(factor * 2147483648.0 + 0.5);
  if (multiplier >> 31) multiplier >>= 1, exponent++;
  y = (int64_t)x * ((int64_t)1 << (exponent > 0 ? exponent : 0)) * multiplier + ((int64_t)1 << 30);
  y = y >= 0 ? y >> 31 : -((-y + 0x7fffffff) >> 31); /* rounded down */
  if (exponent < 0) {
    const int64_t half = (int64_t)1 << (-exponent - 1);
    y = y >= 0 ? (y + half) >> -exponent : -((-y + half) >> -exponent);
  }
  return (long)y;
}

/* The 256 answers of MUL; 0 if the factor is beyond what its own integers hold */
static int fill_map(head_type *h) {
  const double factor = (double)h->quant.logits.scale * (double)h->scalar.scale / (double)h->product.scale;
  long         x, y;
  if (!(factor < 16384.0)) return 0; /* 255 * 255 * 2^15 < 2^31 */
  for (x = -128; x < 128; x++) {
    y = requantize((x - h->quant.logits.zero) * (h->code - h->scalar.zero), factor) + h->product.zero;
    h->map[x + 128] = (signed char)(y < -128 ? -128 : y > 127 ? 127 : y);
  }
  return 1;
}

static int prepare(head_type *h) {
  mha_status status;
  if ((h->product.scale > 0.0f) != (h->scalar.scale > 0.0f))
    return fail("mul, scalar", "one needs the other");
  if (h->product.scale > 0.0f) {
    h->quant.logit_map = h->map;
    h->quant.map_scale = h->product.scale;
    if (h->quant.logits.scale > 0.0f && !fill_map(h)) return fail("mul", "its scale is too small");
  }
  status = mha_s8_prepare(&h->consts, h->quant.mode == MHA_S8_TFLM ? h->table : NULL, &h->quant);
  return status == MHA_OK ? 0 : fail("these numbers", mha_strerror(status));
}

static void print_row(const char *text, int n, int per_line) {
  printf("%s%s%s", n % per_line ? " " : "\n  ", text, n < 255 ? "," : "\n};\n");
}

/* The tables that head n is the first to need */
static void print_tables(const char *name, int n, int in_ram) {
  char text[24];
  int  x;
  if (!in_ram) {
    printf("\nstatic const int32_t %s_table_%d[256] = {", name, n);
    for (x = 0; x < 256; x++) sprintf(text, "%ld", (long)heads[n].table[x]), print_row(text, x, 8);
    return;
  }
  printf("\n/* Before the first use: mha_s8_exp_table(%s_table_%d, %ld, %ld); */\n", name, n,
         (long)heads[n].consts.exp_multiplier, (long)heads[n].consts.exp_shift);
  printf("static int32_t %s_table_%d[256];\n", name, n);
}

static void print_map(const char *name, int n) {
  char text[24];
  int  x;
  printf("\nstatic const signed char %s_map_%d[256] = {", name, n);
  for (x = 0; x < 256; x++) sprintf(text, "%d", heads[n].map[x]), print_row(text, x, 16);
}

/* The first head with the same table, and with the same map */
static int table_of(int n) {
  int first = 0;
  while (memcmp(heads[first].table, heads[n].table, sizeof heads[n].table) != 0) first++;
  return first;
}
static int map_of(int n) {
  int first = 0;
  while (!heads[first].quant.logit_map || memcmp(heads[first].map, heads[n].map, sizeof heads[n].map) != 0)
    first++;
  return first;
}

static const char *mode_name(int mode) { return mode == MHA_S8_TFLM ? "MHA_S8_TFLM" : "MHA_S8_NATIVE"; }

static void print_consts(const char *name, int n) {
  const mha_s8_consts *c = &heads[n].consts;
  printf("  { %s, %d, %d, %d, %d, %d, %luu, %luu,\n", mode_name(c->mode), c->q_zero, c->k_zero, c->v_zero,
         c->o_zero, c->logit_zero, (unsigned long)c->max_d_k, (unsigned long)c->max_kv_len);
  printf("    { %ld, %d, %d }, { %ld, %d, %d }, %ld, %ld,\n    ", (long)c->qk.multiplier, c->qk.left,
         c->qk.right, (long)c->pv.multiplier, c->pv.left, c->pv.right, (long)c->exp_multiplier,
         (long)c->exp_shift);
  if (c->mode == MHA_S8_TFLM) printf("%s_table_%d, ", name, table_of(n));
  else printf("NULL, ");
  if (c->logit_map) printf("%s_map_%d }", name, map_of(n));
  else printf("NULL }");
}

static void print_source(const char *name, int count, int in_ram, int argc, char **argv) {
  const mha_s8_quant *last = &heads[count - 1].quant;
  size_t              d_k = last->d_k, kv_len = last->kv_len;
  char                upper[41];
  int                 n;
  for (n = 0; name[n]; n++) {
    const int lower = name[n] >= 'a' && name[n] <= 'z';
    upper[n] = (char)(lower ? name[n] - 'a' + 'A' : name[n]);
  }
  upper[n] = '\0';

  printf("/* Printed by examples/quantize.c for\n");
  for (n = 1; n < argc; n++) printf("   %s%s", argv[n], n + 1 < argc ? "\n" : " */\n");
  printf("#ifndef %s_SCRATCH_BYTES\n#include \"mha.h\"\n", upper);
  for (n = 0; n < count; n++) {
    if (last->mode == MHA_S8_TFLM && table_of(n) == n) print_tables(name, n, in_ram);
    if (heads[n].quant.logit_map && map_of(n) == n) print_map(name, n);
    if (heads[n].quant.d_k > d_k) d_k = heads[n].quant.d_k;
    if (heads[n].quant.kv_len > kv_len) kv_len = heads[n].quant.kv_len;
  }
  printf("\n/* d.consts = %s;%s */\n", name, count > 1 ? " d.consts_stride = 1;" : "");
  printf("static const mha_s8_consts %s[%d] = {\n", name, count);
  for (n = 0; n < count; n++) print_consts(name, n), printf("%s\n", n + 1 < count ? "," : "");
  printf("};\n\n#define %s_SCRATCH_BYTES MHA_S8_SCRATCH_BYTES(%s, %lu, %lu)\n#endif\n", upper,
         mode_name(last->mode), (unsigned long)kv_len, (unsigned long)d_k);
}

/* ---- The command line ---- */

typedef enum { Q, K, V, O, D_K, KV_LEN, SCALE, LOGITS, BETA, MUL, SCALAR, NAME, TABLE, OPTIONS } option;

typedef struct {
  const char *name;
  int         mode, needed; /* 0: of both modes; needed where the mode fits */
  const char *wants;        /* what stands behind = */
} option_form;

static const char affine_form[] = "it wants SCALE,ZERO with SCALE > 0, -128 <= ZERO <= 127";
static const char scale_form[] = "it wants a number > 0";
static const char size_form[] = "it wants a whole number from 1 to 1000000";

static const option_form forms[OPTIONS] = {
  { "q=", 0, 1, affine_form },
  { "k=", 0, 1, affine_form },
  { "v=", 0, 1, affine_form },
  { "o=", 0, 1, affine_form },
  { "d_k=", 0, 1, size_form },
  { "kv_len=", 0, 1, size_form },
  { "scale=", MHA_S8_NATIVE, 0, scale_form },
  { "logits=", MHA_S8_TFLM, 1, affine_form },
  { "beta=", MHA_S8_TFLM, 0, scale_form },
  { "mul=", MHA_S8_TFLM, 0, affine_form },
  { "scalar=", MHA_S8_TFLM, 0, "it wants SCALE,CODE,ZERO with SCALE > 0, both others in -128 .. 127" },
  { "name=", 0, 0, "it wants a name that C allows, of at most 40 characters, not beginning with mha_" },
  { "table=", MHA_S8_TFLM, 0, "it wants flash or ram" }
};

static option find_option(const char *argument) {
  int x = 0;
  while (x < OPTIONS && strncmp(argument, forms[x].name, strlen(forms[x].name)) != 0) x++;
  return (option)x;
}

/* An option of one head */
static int take_option(head_type *h, option x, const char *value) {
  mha_s8_quant *z = &h->quant;
  switch (x) {
    case Q:      return read_affine(&z->q, value);
    case K:      return read_affine(&z->k, value);
    case V:      return read_affine(&z->v, value);
    case O:      return read_affine(&z->o, value);
    case D_K:    return read_size(&z->d_k, value);
    case KV_LEN: return read_size(&z->kv_len, value);
    case SCALE:
    case BETA:   return read_scale(&z->scale, value);
    case LOGITS: return read_affine(&z->logits, value);
    case MUL:    return read_affine(&h->product, value);
    case SCALAR: return read_scalar(h, value);
    default:     return 0;
  }
}

/* What the command line says beside the heads */
typedef struct {
  const char *name;
  int         in_ram, count; /* count: heads */
} settings;

/* From argument 2 on, the first being the mode; given: a bit for each option that this head has */
static int read_arguments(settings *all, int argc, char **argv) {
  const int mode = heads[0].quant.mode;
  unsigned  given = 0, of_head = 0;
  int       n, x, good;
  for (n = 2; n < argc; n++) {
    if (strcmp(argv[n], "head") == 0) {
      if (all->count == HEADS) return fail(argv[n], "too many");
      heads[all->count] = heads[all->count - 1];
      all->count++;
      of_head &= 1u << NAME | 1u << TABLE; /* once for all heads */
      continue;
    }
    x = (int)find_option(argv[n]);
    if (x == OPTIONS) return fail(argv[n], "unknown; without arguments quantize says what there is");
    if (forms[x].mode && forms[x].mode != mode)
      return fail(argv[n], mode == MHA_S8_TFLM ? "only for native" : "only for tflm");
    if (x == NAME) good = is_name(all->name = argv[n] + strlen(forms[x].name));
    else if (x == TABLE) good = read_place(&all->in_ram, argv[n] + strlen(forms[x].name));
    else good = take_option(&heads[all->count - 1], (option)x, argv[n] + strlen(forms[x].name));
    if (!good) return fail(argv[n], forms[x].wants);
    if (of_head & 1u << x) return fail(argv[n], "a second time for the same head");
    given |= 1u << x, of_head |= 1u << x;
  }
  for (x = 0; x < OPTIONS; x++)
    if (forms[x].needed && (!forms[x].mode || forms[x].mode == mode) && !(given & 1u << x))
      return fail(forms[x].name, "missing");
  return 0;
}

int main(int argc, char **argv) {
  settings all = { "attention", 0, 1 };
  int      n;
  if (argc > 1 && strcmp(argv[1], "tflm") == 0) heads[0].quant.mode = MHA_S8_TFLM;
  else if (argc > 1 && strcmp(argv[1], "native") == 0) heads[0].quant.mode = MHA_S8_NATIVE;
  else {
    fputs(usage, stderr);
    return 2;
  }
  if (read_arguments(&all, argc, argv)) return 1;
  for (n = 0; n < all.count; n++)
    if (prepare(&heads[n])) return 1;
  print_source(all.name, all.count, all.in_ram, argc, argv);
  return fflush(stdout) == 0 ? 0 : fail("standard output", "cannot be written");
}
