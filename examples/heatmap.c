/* heatmap.c - what attention looks like: a worked example in numbers, then twelve heads of a real model.

   cc -O2 examples/heatmap.c -o heatmap && ./heatmap [examples/minilm.txt [build/attention.svg]]

   The data file holds q, k, v of one layer of all-MiniLM-L6-v2 for one sentence, and the attention that NumPy
   computes from them; tests/minilm/export.py wrote it.  The program asks mha.h for the weights, draws each
   head in the terminal and as SVG, and fails if the output is further from NumPy's than mha.h promises.

   Expect "them" to find "keys" in head 2, and the verb before it, "found", in head 9. */
#define MHA_IMPLEMENTATION
#include "../mha.h"
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 16, MAX_HEADS = 16, MAX_DK = 64, MAX_FLOATS = MAX_TOKENS * MAX_HEADS * MAX_DK };

static char  model[64], sentence[128], token[MAX_TOKENS][16];
static int   n, heads, d_k, layer, follow; /* n tokens; follow: the row worth watching */
static float q[MAX_FLOATS], k[MAX_FLOATS], v[MAX_FLOATS]; /* (n, heads, d_k) */
static float out[MAX_FLOATS], numpy[MAX_FLOATS];
static float weights[MAX_HEADS * MAX_TOKENS * MAX_TOKENS]; /* (heads, n, n) */

static double weight(int h, int i, int j) { return (double)weights[(h * n + i) * n + j]; }
static double at(const float *x, int i, int h, int c) { return (double)x[(i * heads + h) * d_k + c]; }
static double size(double x) { return x < 0 ? -x : x; }

static double root(double x) { /* Newton's iteration: this program needs no libm either */
  double r = 1;
  int    i;
  for (i = 0; i < 30; i++) r = (r + x / r) / 2;
  return r;
}

/* ---- 1. Two tokens of four channels in two heads ---- */

static int worked_example(void) {
  static const float qk[8]     = { 1, 0, 0, 1,   0, 1, 1, 0 }; /* a row is a token; columns 0, 1 are head 0 */
  static const float values[8] = { 1, 2, 3, 4,   5, 6, 7, 8 };
  float      o[8], same[8], w[8];
  mha_desc   d = { 0 };
  mha_status status = mha_multi_head_attention(o, qk, qk, values, 2, 4, 2);
  int        i;
  if (status == MHA_OK) { /* once more through the descriptor, for the weights */
    d.batch = 1; d.q_heads = 2; d.q_len = d.kv_len = 2; d.d_k = 2;
    d.o = same; d.q = qk; d.k = qk; d.v = values; d.weights = w;
    status = mha_attend(&d, NULL, 0);
  }
  if (status != MHA_OK) return fprintf(stderr, "worked example: %s\n", mha_strerror(status)), 0;
  printf("Two tokens, two heads: q = k = [1 0 0 1; 0 1 1 0], v = [1 2 3 4; 5 6 7 8]\n\n");
  printf("  weights, head 0    weights, head 1    output\n");
  for (i = 0; i < 8; i += 4)
    printf("  %.4f  %.4f     %.4f  %.4f     %.4f  %.4f  %.4f  %.4f\n", (double)w[i / 2], (double)w[i / 2 + 1],
           (double)w[4 + i / 2], (double)w[5 + i / 2], (double)o[i], (double)o[i + 1], (double)o[i + 2],
           (double)o[i + 3]);
  if (memcmp(o, same, sizeof o) == 0) return 1;
  return fprintf(stderr, "worked example: the two calls should give the same bits\n"), 0;
}

/* ---- 2. The data file.  Each function returns 0 after it has said what is wrong ---- */

static FILE       *file;
static const char *path;
static int         line;

static int bad(const char *what, const char *name) {
  return fprintf(stderr, "%s:%d: %s%s\n", path, line, what, name), 0;
}

/* The rest, after key, of the next line that is neither blank nor a comment. */
static int read_line(const char *key, char *text, size_t text_size) {
  char        buffer[160];
  const char *expected = key[0] ? key : "a token";
  size_t      i;
  do {
    line++;
    if (!fgets(buffer, sizeof buffer, file)) return bad("the file ends early, expected: ", expected);
    if (!strchr(buffer, '\n') && !feof(file)) return bad("line too long, expected: ", expected);
    buffer[strcspn(buffer, "\r\n")] = 0;
  } while (!buffer[0] || buffer[0] == '#');
  if (strncmp(buffer, key, strlen(key)) != 0) return bad("expected: ", key);
  if (strlen(buffer + strlen(key)) >= text_size) return bad("text too long", "");
  strcpy(text, buffer + strlen(key));
  for (i = 0; text[i]; i++)
    if (text[i] < ' ' || text[i] > '~') return bad("a character that is not printable", "");
  return 1;
}

static int read_number(const char *key, long low, long high, int *number) {
  char text[24], *end;
  long x;
  if (!read_line(key, text, sizeof text)) return 0;
  x = strtol(text, &end, 10);
  if (end != text && !*end && x >= low && x <= high) return *number = (int)x, 1;
  return fprintf(stderr, "%s:%d: %smust be a number from %ld to %ld\n", path, line, key, low, high), 0;
}

/* Five digits to base 85 a float, the most significant first, each stored as the character '!' + digit. */
static int read_floats(const char *key, float *x, uint32_t *check) {
  char name[4];
  int  i, digit, c;
  if (!read_line(key, name, sizeof name)) return 0;
  if (name[0]) return bad("expected a line with only: ", key);
  for (i = 0, line++; i < n * heads * d_k; i++) {
    uint32_t bits = 0;
    for (digit = 0; digit < 5; digit++) {
      do line += (c = getc(file)) == '\n';
      while (c == '\n' || c == '\r' || c == ' ' || c == '\t');
      if (c == EOF) return bad("the file ends early, among the numbers of ", key);
      if (c < '!' || c > 'u' || bits > (0xffffffffu - (uint32_t)(c - '!')) / 85)
        return bad("malformed number in ", key);
      bits = bits * 85 + (uint32_t)(c - '!');
    }
    if ((bits & 0x7f800000u) == 0x7f800000u) return bad("NaN or infinity in ", key);
    *check = (*check ^ bits) * 16777619u;
    memcpy(&x[i], &bits, 4);
  }
  return 1;
}

static int read_file(void) {
  uint32_t    check = 2166136261u;
  char        text[16], *end;
  const char *c;
  int         i;
  if (!read_line("mha-attention 1", text, sizeof text) || !read_line("model ", model, sizeof model) ||
      !read_number("layer ", 1, 1000, &layer) || !read_line("sentence ", sentence, sizeof sentence) ||
      !read_number("heads ", 1, MAX_HEADS, &heads) || !read_number("d_k ", 1, MAX_DK, &d_k) ||
      !read_number("tokens ", 1, MAX_TOKENS, &n))
    return 0;
  for (i = 0; i < n; i++) {
    if (!read_line("", token[i], sizeof token[i])) return 0;
    for (c = token[i]; *c; c++) check = (check ^ (unsigned char)*c) * 16777619u;
  }
  if (!read_number("follow ", 0, n - 1, &follow) || !read_floats("q", q, &check) ||
      !read_floats("k", k, &check) || !read_floats("v", v, &check) || !read_floats("o", numpy, &check) ||
      !read_line("check ", text, sizeof text))
    return 0;
  if (strtoul(text, &end, 16) == check && end != text && !*end) return 1;
  return bad("the checksum does not match the contents", "");
}

/* ---- 3. Attention, and the comparison ---- */

/* What mha.h promises for row i of head h against exact arithmetic, in the form for multiply-then-add, which
   is above the one for fused.  Without libm: e^x - 1 <= x + x^2 below 1, 2 ln keys <= keys, and two means of
   v are never further apart than twice its largest. */
static double bound(int i, int h) {
  double u = 1.0 / 16777216, largest_t = 0, largest_v = 0, sum_v = 0, keys = n + 1, x;
  int    j, c;
  for (j = 0; j < n; j++) {
    double t = 0; /* sum |q k| / sqrt(d_k) */
    for (c = 0; c < d_k; c++) {
      t += size(at(q, i, h, c) * at(k, j, h, c)) / root(d_k);
      sum_v += size(at(v, j, h, c));
      if (size(at(v, j, h, c)) > largest_v) largest_v = size(at(v, j, h, c));
    }
    if (t > largest_t) largest_t = t;
  }
  x = 2 * u * (2 * d_k + 20) * largest_t;
  if (x > 1) return 2 * largest_v;
  return largest_v * (x + x * x + u * (2 * keys + keys / 12 + keys + 30)) + (double)FLT_MIN * sum_v;
}

static int attend_and_compare(void) {
  double     worst = 0, ratio = 0;
  mha_desc   d = { 0 };
  mha_status status;
  int        i, h, c;
  d.batch = 1; d.q_heads = (size_t)heads; d.q_len = d.kv_len = (size_t)n; d.d_k = (size_t)d_k;
  d.o = out; d.q = q; d.k = k; d.v = v; d.weights = weights;
  status = mha_attend(&d, NULL, 0);
  if (status != MHA_OK) return fprintf(stderr, "mha_attend: %s\n", mha_strerror(status)), 0;
  for (i = 0; i < n; i++)
    for (h = 0; h < heads; h++) {
      double allowed = bound(i, h), sum = 0;
      for (c = 0; c < n; c++) sum += weight(h, i, c) >= 0 ? weight(h, i, c) : 2;
      if (!(size(sum - 1) <= 1e-5))
        return fprintf(stderr, "token %d, head %d: the weights do not add up to 1\n", i, h + 1), 0;
      for (c = 0; c < d_k; c++) {
        double want = at(numpy, i, h, c), e = size(at(out, i, h, c) - want);
        double limit = allowed + size(want) / 16777216; /* the file has NumPy's doubles rounded to float */
        if (!(e <= limit))
          return fprintf(stderr, "token %d, head %d, channel %d: %g away from NumPy's %g, %g is allowed\n",
                         i, h + 1, c, e, want, limit), 0;
        if (e > worst) worst = e;
        if (e > ratio * limit) ratio = e / limit;
      }
    }
  printf("%d x %d outputs of mha.h (%s, %s) against NumPy in double:\n", n, heads * d_k, mha_isa(),
         mha_numerics());
  printf("the largest difference is %.2g; every difference is below %.1f %% of the bound in mha.h ", worst,
         ((int)(1000 * ratio) + 1) / 10.0); /* rounded up */
  printf("(ACCURACY)\n");
  return 1;
}

/* ---- 4. Pictures.  A shade is the square root of a weight: weak links show, strong ones stand out ---- */

static int longest_token(void) {
  int i, longest = 0;
  for (i = 0; i < n; i++) longest = (int)strlen(token[i]) > longest ? (int)strlen(token[i]) : longest;
  return longest;
}

static int strongest(int h) { /* where the followed row looks most */
  int j, best = 0;
  for (j = 1; j < n; j++) if (weight(h, follow, j) > weight(h, follow, best)) best = j;
  return best;
}

static void draw_terminal(void) { /* three heads side by side */
  int h, h0, i, j, s, label = longest_token(), width = 2 * n > 22 ? 2 * n : 22;
  printf("\"%s\" in layer %d of %s\n", sentence, layer, model);
  printf("row: the token that looks (> marks the one to watch), column: the token it looks at\n");
  printf(". from 1%%  : 4%%  - 9%%  = 16%%  + 25%%  * 36%%  # 49%%  %% 64%%  @ 81%%\n");
  for (h0 = 0; h0 < heads; h0 += 3) {
    printf("\n%*s", label + 2, "");
    for (h = h0; h < h0 + 3 && h < heads; h++) {
      char caption[80];
      snprintf(caption, sizeof caption, "%d: %.15s > %.15s %.0f%%", h + 1, token[follow], token[strongest(h)],
               100 * weight(h, follow, strongest(h)));
      printf("  %-*.*s", width, width, caption);
    }
    printf("\n%*s", label + 2, "");
    for (h = h0; h < h0 + 3 && h < heads; h++) {
      printf("  ");
      for (j = 0; j < width / 2; j++) printf("%c ", j < n ? 'a' + j : ' ');
    }
    for (i = 0; i < n; i++) {
      printf("\n%*s%c%c", label, token[i], i == follow ? '>' : ' ', 'a' + i);
      for (h = h0; h < h0 + 3 && h < heads; h++) {
        printf("  ");
        for (j = 0; j < width / 2; j++) {
          s = j < n ? (int)(10 * root(weight(h, i, j))) : 0;
          printf("%c%c", " .:-=+*#%@"[s > 9 ? 9 : s], " .:-=+*#%@"[s > 9 ? 9 : s]);
        }
      }
    }
    printf("\n");
  }
}

static void put_text(FILE *f, const char *before, const char *text, const char *after) {
  fputs(before, f);
  for (; *text; text++)
    if (*text == '&' || *text == '<' || *text == '>') fprintf(f, "&#%d;", *text);
    else putc(*text, f);
  fputs(after, f);
}

static void put_cell(FILE *f, int x, int y, int w, int h, double s) { /* one hue, from almost white to dark */
  static const double stop[3][3] = { { 247, 250, 254 }, { 120, 172, 218 }, { 8, 40, 100 } };
  int    a = s < 0.5 ? 0 : 1, c, rgb[3];
  double t = s > 1 ? 1 : 2 * s - a;
  for (c = 0; c < 3; c++) rgb[c] = (int)(stop[a][c] + t * (stop[a + 1][c] - stop[a][c]));
  fprintf(f, "<rect x='%d' y='%d' width='%d' height='%d' ", x, y, w, h);
  fprintf(f, "fill='rgb(%d,%d,%d)'>", rgb[0], rgb[1], rgb[2]);
}

static void draw_head(FILE *f, int h, int x, int y, int top) {
  enum { CELL = 18 };
  int i, j, best = strongest(h);
  fprintf(f, "<g transform='translate(%d %d)'>\n<text y='14' font-size='14' fill='#111'>"
          "<tspan font-weight='bold'>head %d</tspan><tspan dx='10' font-size='12' fill='%s'>", x, y, h + 1,
          token[best][0] == '[' ? "#999" : "#b5500a"); /* [CLS] and [SEP]: the head found nothing */
  put_text(f, "", token[follow], " &#8594; ");
  put_text(f, "", token[best], "</tspan></text>\n");
  for (i = 0; i < n; i++) {
    fprintf(f, "<text x='-6' y='%d' text-anchor='end'%s>", top + i * CELL + 13,
            i == follow ? " font-weight='bold' fill='#b5500a'" : "");
    put_text(f, "", token[i], "</text>\n");
    fprintf(f, "<text transform='translate(%d %d) rotate(-45)'>", i * CELL + 12, top - 5);
    put_text(f, "", token[i], "</text>\n");
    for (j = 0; j < n; j++) {
      put_cell(f, j * CELL, top + i * CELL, CELL - 1, CELL - 1, root(weight(h, i, j)));
      put_text(f, "<title>", token[i], " &#8594; ");
      put_text(f, "", token[j], "");
      fprintf(f, " %.1f %%</title></rect>\n", 100 * weight(h, i, j));
    }
  }
  fprintf(f, "<g pointer-events='none'><rect x='-1.5' y='%d.5' width='%d' height='%d' fill='none' "
          "stroke='#e8741e' stroke-width='1.5'/>\n", top + follow * CELL - 2, n * CELL + 2, CELL + 2);
  fprintf(f, "<text x='%d.5' y='%d' font-size='10' text-anchor='middle' fill='%s'>%.0f</text></g>\n</g>\n",
          best * CELL + CELL / 2 - 1, top + follow * CELL + 12,
          weight(h, follow, best) < 0.36 ? "#111" : "white", 100 * weight(h, follow, best));
}

static int draw_svg(const char *name) {
  enum { COLUMNS = 4, EDGE = 24, HEADER = 112 };
  FILE *f = fopen(name, "w");
  int   left = 12 + 6 * longest_token(), top = 34 + 5 * longest_token(); /* room for labels */
  int   panel_w = left + n * 18 + 26, panel_h = top + n * 18 + 20, width = 2 * EDGE + COLUMNS * panel_w, i;
  int   height = HEADER + (heads + COLUMNS - 1) / COLUMNS * panel_h + EDGE / 2, legend = width - EDGE - 250;
  if (!f) return perror(name), 0;
  fprintf(f, "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 0 %d %d' ", width,
          height, width, height);
  fprintf(f, "font-size='11' fill='#333' font-family='Helvetica, Arial, sans-serif'>\n<rect width='100%%' "
          "height='100%%' fill='white'/>\n<g transform='translate(%d 38)' font-size='13'>\n", EDGE);
  put_text(f, "<text font-size='22' fill='#111'>&#8220;", sentence, "&#8221;</text>\n");
  fprintf(f, "<text y='23'>The %d attention heads of layer %d of ", heads, layer);
  put_text(f, "", model, ", computed by mha.h.</text>\n<text y='40'>Row: the token that looks.  "
           "Column: the token it looks at.  Each row adds up to 100 %.</text>\n");
  put_text(f, "<text y='57'>Framed: the row of <tspan font-weight='bold' fill='#b5500a'>", token[follow],
           "</tspan>, with the percentage where it looks most.  "
           "A head with nothing to find often rests on [CLS] or [SEP].</text>\n</g>\n");
  for (i = 0; i < 100; i++) put_cell(f, legend + 2 * i, 26, 3, 14, i / 99.0), fputs("</rect>\n", f);
  for (i = 0; i <= 5; i++)
    fprintf(f, "<text x='%d' y='54' text-anchor='middle'>%d %%</text>\n", legend + 1 + 40 * i, 4 * i * i);
  for (i = 0; i < heads; i++)
    draw_head(f, i, EDGE + i % COLUMNS * panel_w + left, HEADER + i / COLUMNS * panel_h, top);
  fprintf(f, "</svg>\n");
  i = ferror(f);
  if (fclose(f) != 0 || i) return fprintf(stderr, "%s: could not be written in full\n", name), 0;
  return printf("The same as a picture: %s (open it in a browser)\n", name), 1;
}

int main(int argc, char **argv) {
  int ok;
  if (argc > 3) return fprintf(stderr, "usage: %s [data [svg]]\n", argv[0]), 2;
  path = argc > 1 ? argv[1] : "examples/minilm.txt";
  file = fopen(path, "r");
  if (!file) return perror(path), 1;
  ok = read_file();
  fclose(file);
  if (!ok || !worked_example()) return 1;
  printf("\n");
  if (!attend_and_compare()) return 1;
  printf("\n");
  draw_terminal();
  printf("\n");
  return draw_svg(argc > 2 ? argv[2] : "build/attention.svg") ? 0 : 1;
}
