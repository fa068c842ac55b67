/* sort.c - a transformer that sorts digits, on a microcontroller, in integers throughout.

   It reads digits and '=', then writes one token after another, each from all before it, until it writes '='.
   One block of attention with four heads; weights are int8 constants in flash, keys and values an int8 cache.

   Expect: 100 of 100 sequences are sorted. */
#define MHA_IMPLEMENTATION
#define MHA_NO_FLOAT
#include "mha.h"
#include "attention.h"
#include "board.h"
#include "model.h"

enum { LENGTH = 2 * DIGITS + 1, END = 10, CASES = 100, SHOWN = 16 };

static signed char   keys[LENGTH][DIM], values[LENGTH][DIM]; /* one row per token: HEADS * channels */
static unsigned char scratch[ATTENTION_SCRATCH_BYTES];

static int32_t dot(const signed char *a, const signed char *b) {
  int32_t sum = 0;
  int     c;
  for (c = 0; c < DIM; c++) sum += (int32_t)a[c] * b[c];
  return sum;
}

/* out = weights x, in the codes of out: factor / 2^24 is the scale of weights times that of x over its own */
static void project(signed char *out, const signed char (*weights)[DIM], const signed char *x,
                    int32_t factor) {
  int c;
  for (c = 0; c < DIM; c++) {
    const int64_t y = ((int64_t)dot(weights[c], x) * factor + (1 << 23)) >> 24;
    out[c] = (signed char)(y < -127 ? -127 : y > 127 ? 127 : y);
  }
}

/* Takes in token number i of a sequence of n digits; *next becomes what the model wants to come then. */
static mha_status step(int *next, int token, int i, int n) {
  signed char x[DIM], q[DIM], a[DIM];
  mha_s8_desc d = { 0 };
  mha_status  status;
  int32_t     sum, most = 0;
  int         c, t;
  for (c = 0; c < DIM; c++) x[c] = (signed char)(embedding[token][c] + position[DIGITS - n + i][c]);
  project(keys[i], k_weights, x, K_FACTOR);
  project(values[i], v_weights, x, V_FACTOR);
  if (i < n) return MHA_OK; /* nothing is asked before '=' */
  project(q, q_weights, x, Q_FACTOR);

  d.q_heads = HEADS, d.d_k = DIM / HEADS;
  d.q_len = 1, d.kv_len = (size_t)i + 1; /* tokens to come are not in it, so nothing need be masked */
  d.o = a, d.q = q, d.k = keys[0], d.v = values[0];
  d.consts = attention;
  status = mha_s8_native(&d, 0, MHA_ALL, scratch, sizeof scratch);

  for (t = 0; t < TOKENS; t++) {
    sum = dot(x_weights[t], x) + dot(a_weights[t], a) + bias[t];
    if (t == 0 || sum > most) most = sum, *next = t;
  }
  return status;
}

/* Writes up to room tokens after n digits, '=' included; returns how many. */
static int generate(signed char *out, int room, const signed char *digits, int n, mha_status *status) {
  int i, next = END, written = 0;
  for (i = 0; written < room; i++) {
    *status = step(&next, i < n ? digits[i] : i == n ? END : next, i, n);
    if (*status != MHA_OK) break;
    if (i < n) continue;
    out[written++] = (signed char)next;
    if (next == END) break;
  }
  return written;
}

/* What is to be expected, by sorting */
static int is_right(const signed char *out, int written, const signed char *digits, int n) {
  int at = 0, digit, k;
  if (written != n + 1 || out[n] != END) return 0;
  for (digit = 0; digit < 10; digit++)
    for (k = 0; k < n; k++)
      if (digits[k] == digit && out[at++] != digit) return 0;
  return 1;
}

static unsigned random_below(unsigned n) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (unsigned)((state >> 16) * n >> 16);
}

static void put_tokens(const signed char *tokens, int n, int width) {
  char text[LENGTH + 1];
  int  k;
  for (k = 0; k < n; k++) text[k] = "0123456789="[tokens[k]];
  while (k < width) text[k++] = ' ';
  text[k] = '\0';
  put(text);
}

int main(void) {
  signed char digits[DIGITS], out[DIGITS + 1];
  mha_status  status;
  int         trial, n, k, written, right, wrong = 0, tokens = 0;
  put("input         what the model writes\n");
  for (trial = 0; trial < CASES; trial++) {
    n = trial < 2 ? DIGITS : 1 + (int)random_below(DIGITS);
    for (k = 0; k < n; k++) digits[k] = (signed char)random_below(10);
    written = generate(out, DIGITS + 1, digits, n, &status);
    if (status != MHA_OK) {
      put(mha_strerror(status));
      put("\n");
      return 2;
    }
    right = is_right(out, written, digits, n);
    wrong += !right, tokens += written;
    if (trial >= SHOWN && right) continue;
    put_tokens(digits, n, DIGITS + 2);
    put_tokens(out, written, 0);
    put(right ? "\n" : "   wrong\n");
  }
  put("... and so on: ");
  put_number((unsigned long)(CASES - wrong), 0);
  put(" of ");
  put_number(CASES, 0);
  put(" sequences are sorted, ");
  put_number((unsigned long)wrong, 0);
  put(" wrong; ");
  put_number((unsigned long)tokens, 0);
  put(" tokens written\n\nmodel  weights        ");
  put_number(sizeof embedding + sizeof position + sizeof q_weights + sizeof k_weights + sizeof v_weights +
             sizeof x_weights + sizeof a_weights + sizeof bias, 6);
  put(" bytes\n       cache          ");
  put_number(sizeof keys + sizeof values, 6);
  put(" bytes\n       scratch        ");
  put_number(sizeof scratch, 6);
  put(" bytes\n");
  return wrong != 0;
}
